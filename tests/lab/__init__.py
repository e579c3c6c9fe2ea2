"""JupyterLab in headless Chromium: what only a real front end shows. Tests here are plain functions, see conftest.py."""
