import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { InstanceId } from '#common/ids.ts'

/** A guest and a network, both `foreign`, that someone else runs on the daemon `virsh` speaks to. */
export async function startForeignGuest(
  virsh: (...args: string[]) => Promise<string>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-foreign-'))
  try {
    const network = join(folder, 'network.xml')
    await writeFile(network, '<network><name>foreign</name><bridge name="foreign0"/></network>')
    await virsh('net-create', network)
    const domain = join(folder, 'domain.xml')
    await writeFile(domain, domainXml('foreign'))
    await virsh('create', domain)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The id of a guest `kept` that someone else has defined and started there. */
export async function defineForeignGuest(
  virsh: (...args: string[]) => Promise<string>,
): Promise<InstanceId> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-foreign-'))
  try {
    const domain = join(folder, 'domain.xml')
    await writeFile(domain, domainXml('kept'))
    await virsh('define', domain)
    await virsh('start', 'kept')
    return (await virsh('domuuid', 'kept')).trim() as InstanceId
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function domainXml(name: string): string {
  return `<domain type="qemu"><name>${name}</name><memory unit="MiB">32</memory><vcpu>1</vcpu>
    <os><type arch="x86_64" machine="pc">hvm</type></os></domain>`
}
