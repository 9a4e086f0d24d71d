import { listServers } from './list-servers.ts'
import { listServersDetail } from './list-servers-detail.ts'
import { showServer } from './show-server.ts'

export const serverReadHandlers = { listServers, listServersDetail, showServer }
