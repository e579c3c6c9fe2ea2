"""What every work item shares: meters, fresh processes, goals, tables. Standard library only, so that a floor stays a floor."""
