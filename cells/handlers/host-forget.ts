import type { HostId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { changeHost } from '../hosts/change-host.ts'
import { hostView } from '../hosts/host.ts'
import { notifySiblings } from '../hosts/notify-siblings.ts'
import { deleteProvider } from '../placement/delete-provider.ts'

/**
 * Afterwards the host is not there until its compute starts again. Throws `conflict` while a server is on it or comes
 * or goes.
 */
export async function hostForget(
  { conductor }: Cell,
  ask: CellAsk<'host.forget'>,
): Promise<CellAnswer<'host.forget'>> {
  const id = ask.hostId as HostId
  const host = await changeHost(
    conductor,
    id,
    (seen) => ({
      ...seen,
      isUp: false,
      isDisabled: false,
      disabledReason: null,
      isForcedDown: false,
      aggregates: [],
      provider: null,
      isDeleted: true,
    }),
    (tx) => deleteProvider(tx, id),
  )
  await conductor.hosts.refresh()
  notifySiblings(conductor)
  return hostView(host, conductor.ratios)
}
