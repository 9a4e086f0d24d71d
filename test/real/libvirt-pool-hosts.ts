import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import type { Driver, InstanceSpec } from '#drivers/driver.ts'
import type { LinkedHosts } from '../contract/driver-volume-moves.contract.ts'
import { question } from './guest-console.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'

const BOOT_MS = 180_000

export interface PoolHosts extends LinkedHosts {
  readonly one: LibvirtHarness
  readonly two: LibvirtHarness
  /** The folder of the storage pool. */
  readonly pool: string
}

/** Two daemons with one storage pool, which each of them knows by a path of its own. */
export async function startHosts(): Promise<PoolHosts> {
  const one = await startLibvirtHarness('leaver')
  const two = await startLibvirtHarness('taker')
  const { cellId } = one.owner
  const open = (harness: LibvirtHarness) =>
    harness.openAs({ cellId, hostId: newId<HostId>() }, { volumePools: ['shared'] })
  const pools = [join(one.directory, 'pool'), join(two.directory, 'mounted')] as const
  await mkdir(pools[0], { mode: 0o711 })
  await symlink(...pools)
  await one.virsh('pool-define-as', 'shared', 'dir', '--target', pools[0])
  await two.virsh('pool-define-as', 'shared', 'dir', '--target', pools[1])
  const [here, there] = [await open(one), await open(two)]
  const disposeAll = async () => {
    for (const each of [here, there, one, two]) await each[Symbol.asyncDispose]()
  }
  const image = one.image
  return { here, there, image, one, two, pool: pools[0], [Symbol.asyncDispose]: disposeAll }
}

/** What the guest answers to a command on its serial console. */
export async function printed(
  driver: Driver,
  { id }: InstanceSpec,
  command: string,
): Promise<string> {
  const serial = await driver.console!.open(id, 'serial', AbortSignal.timeout(BOOT_MS))
  let shown = ''
  serial.on('data', (chunk: Buffer) => {
    shown += chunk.toString('latin1')
  })
  const { line, answer } = question(command)
  const poll = { timeout: BOOT_MS, interval: 2_000 }
  await expect
    .poll(() => {
      serial.write(line)
      return shown
    }, poll)
    .toMatch(answer)
  serial.destroy()
  return answer.exec(shown)![1]!
}
