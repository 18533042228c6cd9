"""Runs migrations on the connection and in the transaction of whoever asked for them."""

from __future__ import annotations

from alembic import context

from rung.platform.store.schema import VERSION_TABLE, metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, version_table=VERSION_TABLE)
context.run_migrations()
