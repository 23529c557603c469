"""OpenUSD stages to scenes and back: units, quaternion order and templates are settled here."""

__all__: list[str] = []
