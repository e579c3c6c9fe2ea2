"""Models that tools and questions may have, a file for each kind; what a person does to their forms, and what must arrive."""
