"""Topics that are tables: `holdfast tables run` keeps all of them fresh."""
