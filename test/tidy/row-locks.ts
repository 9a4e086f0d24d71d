/** A lock that other nodes of a cluster of databases do not know of. */
export const ROW_LOCK = /\.for\('(?:update|share)'\)|\bfor update\b|\block in share mode\b/i

/** Files that may lock rows so, and the reason. All other code uses `lockRows`, which changes the rows. */
export const ROW_LOCK_FILES: Readonly<Record<string, string>> = {
  'common/saga/log.ts': 'it waits for the row of a transaction whose end is not known',
  'common/db/lock-rows.ts': 'its comment names them',
  'gateway/db/cell-sagas.ts': 'the rows are changed or deleted',
  'gateway/db/described-rows.ts': 'the row is changed',
  'gateway/db/volumes.ts': 'the row is changed',
  'gateway/db/volume-snapshots.ts': 'the row is changed',
  'gateway/db/identity/trusts.ts': 'the rows are deleted',
  'gateway/db/instance-mappings.ts': 'the mapping is changed, or another row by its attempt',
  'gateway/db/mapping-batches.ts': 'the mappings are deleted',
  'gateway/db/metadefs.ts': 'the row is changed or deleted',
  'gateway/db/port-addresses.ts': 'a key keeps addresses apart; the lock spares futile searches',
  'gateway/db/port-inserts.ts': 'foreign keys keep the parents',
  'gateway/db/security-groups.ts': 'a foreign key keeps the group; the rules are deleted',
  'gateway/db/server-ports.ts': 'the ports are deleted',
  'gateway/db/server-intents.ts': 'the intent is deleted',
  'cells/db/feed.ts': 'the row is changed',
  'cells/db/instances.ts': 'the instance is changed',
  'cells/placement/audit-provider.ts': 'the provider is changed',
  'cells/placement/claim-nodes.ts': 'the claim that follows changes the provider',
  'cells/placement/delete-provider.ts': 'the provider is deleted, and claims change it',
  'cells/placement/release.ts': 'the allocations are deleted',
  'cells/placement/settle-nodes.ts': 'the allocations are deleted',
}
