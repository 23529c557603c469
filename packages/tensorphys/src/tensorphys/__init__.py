"""The tensor API over OpenUSD physics scenes, and the command line."""

__all__: list[str] = []
