import { createServer } from './create-server.ts'
import { deleteServer } from './delete-server.ts'
import { listServers } from './list-servers.ts'
import { listServersDetail } from './list-servers-detail.ts'
import { showServer } from './show-server.ts'
import { updateServer } from './update-server.ts'

/** Servers by the name of the API that alone took block devices once. */
export const volumeBootHandlers = {
  createVolumeBootedServer: createServer,
  deleteVolumeBootedServer: deleteServer,
  listVolumeBootedServers: listServers,
  listVolumeBootedServersDetail: listServersDetail,
  showVolumeBootedServer: showServer,
  updateVolumeBootedServer: updateServer,
}
