import type { MoveProgress } from '#openapi/wire/migration.ts'
import type { ShownMigration } from '../app/migrations/list-migrations.ts'
import { isUnderWay } from '../app/migrations/live-migrations.ts'
import type { Links } from '../http/links.ts'
import { resourceLinks } from './links.ts'
import { plainTime } from './time.ts'

/** A migration among all. */
export function migrationView(migration: ShownMigration, links: Links) {
  const { serverId } = migration
  return {
    ...common(migration),
    instance_uuid: serverId,
    migration_type: migration.type as 'migration' | 'resize' | 'live-migration' | 'evacuation',
    old_instance_type_id: migration.oldFlavorNumber,
    new_instance_type_id: migration.newFlavorNumber,
    ...(isUnderWay(migration) && {
      links: resourceLinks(links, `/servers/${serverId}/migrations/${migration.id}`),
    }),
  }
}

/** A live migration of one server. */
export function serverMigrationView(migration: ShownMigration, { memory, disks }: MoveProgress) {
  return {
    ...common(migration),
    server_uuid: migration.serverId,
    disk_processed_bytes: disks?.processed ?? null,
    disk_remaining_bytes: disks?.remaining ?? null,
    disk_total_bytes: disks?.total ?? null,
    memory_processed_bytes: memory?.processed ?? null,
    memory_remaining_bytes: memory?.remaining ?? null,
    memory_total_bytes: memory?.total ?? null,
  }
}

function common(migration: ShownMigration) {
  return {
    id: migration.id,
    uuid: migration.uuid,
    status: migration.status,
    source_compute: migration.sourceHost,
    source_node: migration.sourceNode,
    dest_compute: migration.destHost,
    dest_node: migration.destNode,
    dest_host: migration.destAddress,
    user_id: migration.userId,
    project_id: migration.projectId,
    created_at: plainTime(migration.createdAt),
    updated_at: plainTime(migration.updatedAt),
  }
}
