import type { InstanceSpec } from '../../driver.ts'
import { createBlank } from '../../qemu-img.ts'
import { filesOf, type LibvirtHost } from '../host.ts'
import { domainSubject, writeInstanceRecord } from '../instance-record.ts'
import { existingDomain, hideFiles, orNothing } from '../spawn.ts'
import { takeIn } from './arrive.ts'
import type { Announced } from './peer-info.ts'

/**
 * Afterwards the guest's disks, empty and as large as it has them, and its networks are here, and its daemon can send
 * the rest. The caller holds the instance's lock.
 */
export async function expectGuest(
  host: LibvirtHost,
  spec: InstanceSpec,
  { root, ephemeral, swap }: Announced,
  signal: AbortSignal,
): Promise<void> {
  if ((await existingDomain(host, spec, signal)) !== undefined) return
  await orNothing(host, spec, async () => {
    const files = filesOf(host, spec.id)
    const { nics } = spec
    const { sha256: imageSha256 } = spec.image
    await writeInstanceRecord(files, { version: 1, imageSha256, nics, domain: domainSubject(spec) })
    await takeIn(files)
    await createBlank(files.rootDisk, root, signal)
    if (ephemeral !== undefined) await createBlank(files.ephemeralDisk, ephemeral, signal)
    if (swap !== undefined) await createBlank(files.swapDisk, swap, signal)
    await hideFiles(files)
    for (const nic of nics) await host.networks.plug(nic, signal)
  })
}
