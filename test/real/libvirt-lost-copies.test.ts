import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type AttachmentId, newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { run } from '#drivers/run.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { AttachmentSpec, Volumes } from '#drivers/volumes.ts'
import { isFullRun } from '../env/full-run.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a daemon that was killed as it began to copy a disk has lost the job; the disks of the guest are copied all the same.

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io']
const why = isFullRun ? whyNoGuests(COMMANDS) : 'with --all only'
const MIB = 1024 ** 2
const signal = () => AbortSignal.timeout(120_000)

/** Afterwards the daemon has of a job of the guest what one has that was killed as it began a copy. */
async function loseJob({ host }: LibvirtHarness, id: string): Promise<void> {
  const job = `<job type='none' async='backup' flags='0x0' asyncStarted='1'/>`
  await host.stopDaemon()
  const state = `/run/libvirt/qemu/weir-${id}.xml`
  const edit = `s#^  <domain type=#  ${job}\\n&#`
  await host.run('sed', ['-i', edit, state], { timeoutMs: 10_000 })
  await host.run('grep', ['-qF', job, state], { timeoutMs: 10_000 })
  await host.restartDaemon()
}

describe.skipIf(why !== undefined)(
  `disks of a guest whose daemon has lost a job${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    test('are copied while it runs, and it is moved once it was started again', async () => {
      await using libvirt = await startLibvirtHarness('lost')
      await using driver = await libvirt.open()
      const volumes = driver.volumes as Volumes
      const spec = instanceSpec(libvirt.image)
      await driver.spawn(spec, signal())
      const [store] = await volumes.stores(signal())
      const key = { id: newId<VolumeId>(), key: newId<string>().repeat(2) }
      const sealed = { store: store!.id, id: key.id }
      const plain = { store: store!.id, id: newId<VolumeId>() }
      await volumes.keys!.hold('test', [key], signal())
      const encryption = { keyBits: 256 } as const
      await volumes.create({ ...sealed, bytes: 8 * MIB, encryption }, signal())
      await volumes.create({ ...plain, bytes: 8 * MIB }, signal())
      const attached: AttachmentSpec[] = []
      for (const each of [sealed, plain]) {
        const attachmentId = newId<AttachmentId>()
        attached.push({ ...each, attachmentId, isReadOnly: false, isShared: false })
        await volumes.attach(spec.id, attached.at(-1)!, signal())
      }
      const written = async (disk: number, byte: number) => {
        const ask = ['qemu-monitor-command', `weir-${spec.id}`, '--hmp']
        const backend = `/machine/peripheral/ua-vol-${attached[disk]!.attachmentId}/virtio-backend`
        const text = await libvirt.virsh(...ask, `qemu-io -d ${backend} "write -P ${byte} 0 1M"`)
        expect(text.trim()).toBe('')
      }
      await written(0, 0x5a)
      await written(1, 0xa5)
      await loseJob(libvirt, spec.id)
      const lost = libvirt.virsh('domjobinfo', `weir-${spec.id}`)
      await expect(lost).rejects.toMatchObject({
        detail: expect.stringContaining('job data missing'),
      })
      // Its driver finds the daemon again, which has forgotten the keys.
      const again = () => volumes.keys!.hold('test', [key], signal())
      await expect.poll(() => again().then(() => 'held', String)).toBe('held')

      const snapshots = [newId<VolumeSnapshotId>(), newId<VolumeSnapshotId>()] as const
      for (const [nth, each] of [sealed, plain].entries())
        await volumes.snapshot(each, snapshots[nth]!, signal())
      await written(0, 0)
      await written(1, 0)

      const state = join(libvirt.directory, `state-${libvirt.owner.cellId}`)
      const fileOf = ({ id }: { id: string }, snapshot: string) =>
        join(state, 'volumes', `weir-${libvirt.owner.cellId}-${id}.${snapshot}`)
      const content = await readFile(fileOf(plain, snapshots[1]))
      expect(content.length).toBe(8 * MIB)
      expect(content.subarray(0, MIB).equals(Buffer.alloc(MIB, 0xa5))).toBe(true)
      const copy = { store: store!.id, id: newId<VolumeId>() }
      const other = { id: copy.id, key: newId<string>().repeat(2) }
      await volumes.keys!.hold('copy', [other], signal())
      const from = { volume: sealed.id, snapshot: snapshots[0] }
      await volumes.create({ ...copy, bytes: 8 * MIB, encryption, from }, signal())
      const opened = async (pattern: number) => {
        const secret = ['--object', `secret,id=key,data=${other.key}`]
        const file = join(state, 'volumes', `weir-${libvirt.owner.cellId}-${copy.id}.luks`)
        const node = `driver=luks,key-secret=key,file.driver=file,file.filename=${file}`
        const args = [...secret, '--image-opts', node, '-c', `read -P ${pattern} 0 1M`]
        return (await run('qemu-io', args, { timeoutMs: 60_000 })).stdout
      }
      expect(await opened(0x5a)).toContain('read 1048576')
      expect(await opened(0x5a)).not.toContain('failed')
      {
        await using disk = await driver.snapshot!.take(spec.id, signal())
        expect(disk.sizeBytes).toBeGreaterThan(0)
      }

      await expect(driver.liveMove!.announce(spec.id, signal())).rejects.toMatchObject({
        ...{ kind: 'unsupported', message: expect.stringContaining('A hard reboot') },
      })
      await driver.reboot(spec.id, 'hard', 0, signal())
      await driver.liveMove!.announce(spec.id, signal())
      await volumes.snapshot(plain, newId<VolumeSnapshotId>(), signal())
      await driver.destroy(spec.id, signal())
    }, 300_000)
  },
)
