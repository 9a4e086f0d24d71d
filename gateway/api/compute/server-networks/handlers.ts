import { gone } from '../gone.ts'
import { attachServerInterface } from './attach-server-interface.ts'
import { detachServerInterface } from './detach-server-interface.ts'
import { listServerAddresses } from './list-server-addresses.ts'
import { listServerInterfaces } from './list-server-interfaces.ts'
import { listServerSecurityGroups } from './list-server-security-groups.ts'
import { showServerAddresses } from './show-server-addresses.ts'
import { showServerInterface } from './show-server-interface.ts'

export const serverNetworkHandlers = {
  attachServerInterface,
  detachServerInterface,
  listServerAddresses,
  listServerInterfaces,
  listServerSecurityGroups,
  listServerVirtualInterfaces: gone,
  showServerAddresses,
  showServerInterface,
}
