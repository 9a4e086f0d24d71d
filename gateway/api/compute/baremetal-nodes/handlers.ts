import { useIronic, withoutIronic } from './refuse-baremetal.ts'

export const baremetalNodeHandlers = {
  actOnBaremetalNode: useIronic('port-create'),
  createBaremetalNode: useIronic('node-create'),
  deleteBaremetalNode: useIronic('node-delete'),
  listBaremetalNodes: withoutIronic,
  showBaremetalNode: withoutIronic,
}
