import { Failure } from '#common/errors.ts'
import type { Handler } from '../../http/operation.ts'

/** As a Nova answers whose cloud has no bare metal service. */
const withoutIronic: Handler = async () => {
  throw new Failure('unsupported', 'Ironic client unavailable, cannot access Ironic.')
}

/** As Nova answers, which never changed nodes for others: by the command that does. */
function useIronic(command: string): Handler {
  return async () => {
    throw new Failure(
      'invalid',
      `Command not supported. Please use Ironic command ${command} to perform this action.`,
    )
  }
}

export const baremetalNodeHandlers = {
  actOnBaremetalNode: useIronic('port-create'),
  createBaremetalNode: useIronic('node-create'),
  deleteBaremetalNode: useIronic('node-delete'),
  listBaremetalNodes: withoutIronic,
  showBaremetalNode: withoutIronic,
}
