"""What the work items of one peer share: how its threads are kept."""
