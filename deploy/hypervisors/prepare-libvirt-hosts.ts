import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import type { HostRecord } from '../deployment/state.ts'
import { buildGuestImage, builtKernel } from '../guest/build-guest-image.ts'
import { startLibvirtHost } from '../libvirt-host/libvirt-host.ts'
import { installPackages } from '../packages/install-packages.ts'
import { guestDirectory } from '../paths.ts'
import { type HostShare, shareSettings } from './host-share.ts'
import type { PreparedHosts } from './prepare-hosts.ts'
import { machineVirtType } from './virt-type.ts'

/** Afterwards a libvirt daemon of its own runs for each host, and it is known how guests run. */
export async function prepareLibvirtHosts(
  layout: Layout,
  hosts: readonly HostRecord[],
  share: HostShare,
  progress: (line: string) => void,
): Promise<PreparedHosts> {
  await installPackages(['libvirt'], progress)
  if (!existsSync(await builtKernel(guestDirectory)))
    progress('Building the guest image, and trying whether KVM runs it ...')
  await buildGuestImage(guestDirectory)
  const verdict = await machineVirtType()
  if (verdict === undefined) throw new Error('QEMU and a guest are there, and nothing was tried')
  const settings = await Promise.all(
    hosts.map(async ({ id, name }) => {
      const directory = join(layout.hosts, name, 'libvirt')
      const { uri } = await startLibvirtHost({ directory, name })
      return [id, { uri, virt_type: verdict.virtType, ...shareSettings(share) }] as const
    }),
  )
  const kind = verdict.virtType === 'kvm' ? 'under KVM' : 'emulated'
  return { settings: new Map(settings), guests: `${kind}: ${verdict.why}` }
}
