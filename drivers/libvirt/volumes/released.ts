import type { InstanceId } from '#common/ids.ts'
import type { InstanceReport } from '../../driver.ts'
import type { ReleasedVolume } from '../../volumes.ts'
import type { LibvirtHost } from '../host.ts'
import { listInstanceRecords } from '../instance-record.ts'
import { isReleased } from './openers.ts'

/** The reports, with the volumes that guests have released after their detach had been given up. */
export async function withReleased(
  host: LibvirtHost,
  reports: readonly InstanceReport[],
  signal: AbortSignal,
): Promise<readonly InstanceReport[]> {
  const released = await releasedVolumes(host, signal)
  if (released.size === 0) return reports
  return reports.map((report) => {
    const volumes = released.get(report.id)
    return volumes === undefined ? report : { ...report, released: volumes }
  })
}

async function releasedVolumes(
  host: LibvirtHost,
  signal: AbortSignal,
): Promise<ReadonlyMap<InstanceId, readonly ReleasedVolume[]>> {
  const released = new Map<InstanceId, readonly ReleasedVolume[]>()
  for (const [instance, { volumes = [] }] of await listInstanceRecords(host.stateDirectory)) {
    const leaving = volumes.filter(({ isLeaving }) => isLeaving === true)
    if (leaving.length === 0) continue
    // While a detach is under way it says itself how it ends.
    const gone = await host.locks.runIfFree(instance, signal, async () => {
      const found: ReleasedVolume[] = []
      for (const volume of leaving)
        if (await isReleased(host, { instance, volume }, signal))
          found.push({ id: volume.id, attachmentId: volume.attachmentId })
      return found
    })
    if (gone !== undefined && gone.length > 0) released.set(instance, gone)
  }
  return released
}
