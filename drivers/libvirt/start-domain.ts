import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { OFF, powerStateOf } from './domains/power-state.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import { readInstanceRecord } from './instance-record.ts'
import type { DomainRef } from './rpc/refs.ts'
import { isHeldByJob } from './rpc/remote-failure.ts'

/** Afterwards the guest, which was off, runs. Throws `no-capacity` where the machine cannot lend the devices that it has. */
export async function startDomain(
  host: LibvirtHost,
  id: InstanceId,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<void> {
  try {
    await startOff(host, domain, signal)
  } catch (cause) {
    if (!isFailure(cause, 'unsupported')) throw cause
    const { placement } = (await readInstanceRecord(filesOf(host, id))) ?? {}
    if (placement?.devices === undefined) throw cause
    throw new Failure(
      'no-capacity',
      'This host cannot pass PCI devices through to guests: this requires an IOMMU and vfio.',
      { cause },
    )
  }
}

/**
 * A daemon that was killed as it began a copy of a disk keeps a job of which it knows nothing, also once the guest is off, and
 * waits in vain for its end. It lets the domain be defined again; not while it really works on it.
 */
async function startOff(host: LibvirtHost, domain: DomainRef, signal: AbortSignal): Promise<void> {
  try {
    await host.domains.start(domain, signal)
  } catch (cause) {
    if (!isHeldByJob(cause)) throw cause
    if (!OFF.has(powerStateOf(await host.domains.state(domain, signal)))) throw cause
    await host.domains.start(await host.domains.renew(domain, signal), signal)
  }
}
