import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe } from 'vitest'
import { isCephRbdHere } from '../env/ceph/rbd.ts'
import { isFullRun } from '../env/full-run.ts'
import { type EncryptingHosts, encryptedGuests } from './libvirt-encrypted-guests.ts'
import { startHosts } from './libvirt-pool-hosts.ts'
import { rbdContent, startCephHosts } from './libvirt-rbd-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'genisoimage', 'syslinux']
const why = isFullRun ? whyNoGuests(COMMANDS) : 'not asked for'
const whyNoCeph = why ?? (isCephRbdHere() ? undefined : 'no Ceph')

async function startInFolder(): Promise<EncryptingHosts> {
  const hosts = await startHosts()
  const { cellId } = hosts.one.owner
  return {
    ...hosts,
    raw: (id, snapshot) => readFile(join(hosts.pool, `weir-${cellId}-${id}.${snapshot ?? 'luks'}`)),
    fences: false,
  }
}

async function startInCeph(): Promise<EncryptingHosts> {
  const hosts = await startCephHosts()
  const { raw } = rbdContent(hosts.ceph, hosts.one.owner).sealed
  return { ...hosts, raw: (id, snapshot) => raw({ id }, snapshot), fences: true }
}

describe.skipIf(why !== undefined)(
  `encrypted volumes of libvirt guests in a folder${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => encryptedGuests(startInFolder),
)

describe.skipIf(whyNoCeph !== undefined)(
  `encrypted volumes of libvirt guests in a Ceph${whyNoCeph === undefined ? '' : ` (skipped: ${whyNoCeph})`}`,
  () => encryptedGuests(startInCeph),
)
