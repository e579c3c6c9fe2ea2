"""The tests of the checkpointer contract, by what they are about; `CheckpointerContract` joins them."""
