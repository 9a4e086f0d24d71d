import type { HostId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { changeHost } from '../hosts/change-host.ts'
import { hostView } from '../hosts/host.ts'
import { tellSiblings } from '../hosts/tell-siblings.ts'

/** Afterwards the host's service is enabled or not, and declared down or not, as the operator says. */
export async function hostSetService(
  { conductor }: Cell,
  ask: CellAsk<'host.set-service'>,
): Promise<CellAnswer<'host.set-service'>> {
  const host = await changeHost(conductor, ask.hostId as HostId, (seen) => {
    const isDisabled = ask.isDisabled ?? seen.isDisabled
    const isForcedDown = ask.isForcedDown ?? seen.isForcedDown
    const reason = ask.disabledReason === undefined ? seen.disabledReason : ask.disabledReason
    const isUp = conductor.hosts.isUp({ ...seen, isForcedDown })
    return { ...seen, isDisabled, disabledReason: isDisabled ? reason : null, isForcedDown, isUp }
  })
  await conductor.hosts.refresh()
  tellSiblings(conductor)
  return hostView(host, conductor.ratios)
}
