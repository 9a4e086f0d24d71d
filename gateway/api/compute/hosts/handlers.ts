import { listHosts } from './list-hosts.ts'
import { rebootHost } from './reboot-host.ts'
import { showHost } from './show-host.ts'
import { shutHostDown } from './shut-host-down.ts'
import { startHostUp } from './start-host-up.ts'
import { updateHost } from './update-host.ts'

export const hostHandlers = {
  listHosts,
  rebootHost,
  showHost,
  shutHostDown,
  startHostUp,
  updateHost,
}
