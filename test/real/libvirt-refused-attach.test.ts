import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AttachmentId, newId, type VolumeId } from '#common/ids.ts'
import type { Driver, InstanceSpec } from '#drivers/driver.ts'
import { instanceFiles } from '#drivers/libvirt/instance-files.ts'
import { readInstanceRecord, writeInstanceRecord } from '#drivers/libvirt/instance-record.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { AttachmentSpec, VolumeRef } from '#drivers/volumes.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const MIB = 1024 ** 2
const why = whyNoGuests(['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io'])

const signal = () => AbortSignal.timeout(60_000)

describe.skipIf(why !== undefined)(
  `an attach that libvirt refuses${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let harness: LibvirtHarness
    let driver: Driver
    let spec: InstanceSpec
    const state = () => join(harness.directory, `state-${harness.owner.cellId}`)
    const pathOf = ({ id }: VolumeRef) =>
      join(state(), 'volumes', `weir-${harness.owner.cellId}-${id}`)

    beforeAll(async () => {
      harness = await startLibvirtHarness('refused')
      driver = await harness.open()
    }, 60_000)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    async function guestAndVolume(): Promise<AttachmentSpec> {
      spec = instanceSpec(harness.image)
      await driver.spawn(spec, signal())
      const [store] = await driver.volumes!.stores(signal())
      const volume = { store: store!.id, id: newId<VolumeId>() }
      await driver.volumes!.create({ ...volume, bytes: MIB }, signal())
      const attachmentId = newId<AttachmentId>()
      return { ...volume, attachmentId, isReadOnly: false, isShared: false }
    }

    test('leaves the volume free, also where the host was killed before it had asked', async () => {
      const volume = await guestAndVolume()
      // The record is ahead of the domain.
      const files = instanceFiles(state(), spec.id)
      const record = (await readInstanceRecord(files))!
      const path = pathOf(volume)
      await writeInstanceRecord(files, { ...record, volumes: [{ ...volume, path }] })
      const stranger = spawn('qemu-io', ['-f', 'raw', path], { stdio: ['pipe', 'pipe', 'ignore'] })
      await once(stranger.stdout, 'data')

      const attach = () => driver.volumes!.attach(spec.id, volume, signal())
      await expect(attach()).rejects.toMatchObject({ kind: 'conflict' })

      stranger.stdin.end('quit\n')
      await once(stranger, 'exit')
      await driver.volumes!.destroy(volume, signal())
      await driver.destroy(spec.id, signal())
    }, 60_000)

    test('has the guest release what it had got by then', async () => {
      const volume = await guestAndVolume()
      const attach = () => driver.volumes!.attach(spec.id, volume, signal())
      const definitions = '/etc/libvirt/qemu'
      const mount = (...args: string[]) => harness.host.run('mount', args, { timeoutMs: 10_000 })
      await mount('--bind', definitions, definitions)
      await mount('-o', 'remount,bind,ro', definitions)

      await expect(attach()).rejects.toMatchObject({ kind: 'internal' })

      await harness.host.run('umount', [definitions], { timeoutMs: 10_000 })
      const released = { id: volume.id, attachmentId: volume.attachmentId }
      const report = async () => (await driver.list(signal())).find(({ id }) => id === spec.id)
      const destroy = () => driver.volumes!.destroy(volume, signal())
      await expect(destroy()).rejects.toMatchObject({ kind: 'conflict' })
      // It has no operating system that would do it while it runs.
      await driver.reboot(spec.id, 'hard', 0, signal())
      await expect.poll(report).toMatchObject({ released: [released] })
      await driver.volumes!.detach(spec.id, volume.attachmentId, signal())
      await destroy()
      await driver.destroy(spec.id, signal())
    }, 60_000)
  },
)
