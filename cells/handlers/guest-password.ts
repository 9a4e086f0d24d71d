import type { Service } from '#common/bus/serve.ts'
import { Failure } from '#common/errors.ts'
import type { HostId, InstanceId } from '#common/ids.ts'
import { checked } from '#openapi/wire/checked.ts'
import { GuestPassword } from '#openapi/wire/guest-password.ts'
import { reportSubject } from '#openapi/wire.ts'
import type { Cell } from '../cell.ts'
import { queueFeedRow } from '../db/feed.ts'
import { findInstance } from '../db/instances.ts'

/**
 * Takes the passwords that guests publish from the hosts that they are on. Afterwards gateways learn of a password.
 * Throws `conflict` for a guest that is not on the host, as far as the cell knows: the host repeats it.
 */
export function guestPasswordService({ conductor }: Cell, queue: string): Service {
  const { cellId, db } = conductor
  return {
    subject: reportSubject(cellId, '*', 'guest-password'),
    queue,
    parse: (payload, asked) => {
      const report = checked(GuestPassword, payload, asked)
      // The bus lets a host publish only on subjects with its own id.
      if (asked === reportSubject(cellId, report.hostId as HostId, 'guest-password')) return report
      throw new Failure('forbidden', 'A host reported data of another host.')
    },
    handle: async ({ hostId, ...report }: GuestPassword) => {
      const instance = await findInstance(db, report.serverId as InstanceId)
      if (instance?.placed?.hostId !== hostId || instance.attempt !== report.attempt)
        throw new Failure('conflict', `Server ${report.serverId} is not on host ${hostId}.`)
      await db.transaction(async (tx) => {
        queueFeedRow(tx, [{ kind: 'guest-password', ...report }])
      })
      conductor.feedChanged()
      return {}
    },
  }
}
