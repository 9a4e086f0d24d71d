import type { CellId } from '#common/ids.ts'
import { apiStatus } from '#common/states/instance-states.ts'
import type { ServerRecord } from '../../app/servers/list/server-record.ts'

/** A server as operators list it; `cellNames` by the cells' ids. */
export function operatedServerView(server: ServerRecord, cellNames: ReadonlyMap<CellId, string>) {
  const { cellId, vmState, taskState, flavor } = server
  return {
    id: server.id,
    name: server.name,
    project_id: server.projectId,
    user_id: server.userId,
    status: apiStatus(vmState, taskState),
    task_state: taskState,
    cell: cellId === null ? null : (cellNames.get(cellId) ?? null),
    cell_id: cellId,
    host: server.host,
    zone: server.zone,
    flavor: {
      name: flavor.name,
      vcpus: flavor.vcpus,
      memory_mb: flavor.memoryMb,
      disk_gb: flavor.rootGb + flavor.ephemeralGb,
    },
    image_id: server.imageId,
    fault: server.fault?.message ?? null,
    created_at: server.createdAt.toISOString(),
    updated_at: server.updatedAt.toISOString(),
  }
}
