import type { HostId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { auditHost } from '../hosts/audit-host.ts'
import { changeHost } from '../hosts/change-host.ts'
import { hostView } from '../hosts/host.ts'
import { notifySiblings } from '../hosts/notify-siblings.ts'

/**
 * Afterwards the host's service is enabled or not, and declared down or not, as the operator says. One that is no longer
 * declared down is looked at: what was evacuated from it meanwhile must not go on running there.
 */
export async function hostSetService(
  cell: Cell,
  ask: CellAsk<'host.set-service'>,
): Promise<CellAnswer<'host.set-service'>> {
  const { conductor } = cell
  const host = await changeHost(conductor, ask.hostId as HostId, (seen) => {
    const isDisabled = ask.isDisabled ?? seen.isDisabled
    const isForcedDown = ask.isForcedDown ?? seen.isForcedDown
    const reason = ask.disabledReason === undefined ? seen.disabledReason : ask.disabledReason
    const isUp = conductor.hosts.isUp({ ...seen, isForcedDown })
    return { ...seen, isDisabled, disabledReason: isDisabled ? reason : null, isForcedDown, isUp }
  })
  await conductor.hosts.refresh()
  notifySiblings(conductor)
  if (ask.isForcedDown === false)
    void auditHost(cell, host.id).catch((error: unknown) =>
      conductor.log.warn({ host: host.id, ...errorFields(error) }, 'host not audited'),
    )
  return hostView(host, conductor.ratios)
}
