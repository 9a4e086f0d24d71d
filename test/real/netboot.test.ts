import { createHash, randomBytes } from 'node:crypto'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EMULATED_KERNEL } from '#deploy/machine/machine-files.ts'
import { homeDirectory } from '#deploy/paths.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { buildRamdisk } from '#deploy/ramdisk/build-ramdisk.ts'
import { BootServer } from '#drivers/baremetal/netboot/boot-server.ts'
import {
  cleanMachine,
  inspectMachine,
  type Machine,
  writeImage,
} from '#drivers/baremetal/netboot/run-in-ramdisk.ts'
import { ipmiManagement } from '#drivers/baremetal/parts/ipmi-management.ts'
import { Bmc } from '#drivers/ipmi/bmc.ts'
import { ipmiPower } from '#drivers/ipmi/ipmi-power.ts'
import { isFullRun } from '../env/full-run.ts'
import { echoDisk } from './machine/echo-disk.ts'
import { type SimulatedMachine, startMachine } from './machine/simulated-machine.ts'
import { whyNoGuests } from './requirements.ts'

const why = isFullRun
  ? whyNoGuests(['ipmi_sim', 'ipmitool', 'qemu-system-x86_64', 'cpio', 'depmod'])
  : 'only with --all'
const skipped = why === undefined ? '' : ` (skipped: ${why})`
const MAC = '52:54:00:12:34:56'
const DISK_MB = 16
const IMAGE_MB = 8
/** Software emulation on a busy machine. */
const TASK_MS = 120_000

describe.skipIf(why !== undefined)(`a machine that boots from the network${skipped}`, () => {
  let simulated: SimulatedMachine
  let server: BootServer
  let bmc: Bmc
  let machine: Machine
  const signal = () => AbortSignal.timeout(TASK_MS)
  const disk = () => join(simulated.directory, 'disk.img')

  beforeAll(async () => {
    const port = await freePort()
    // QEMU's own network: the machine reaches this one as 10.0.2.2.
    const publicUrl = `http://10.0.2.2:${port}`
    const ramdisk = await buildRamdisk(join(homeDirectory, 'images'))
    const liveBoots = async () => new Map<string, never>()
    server = await BootServer.start({
      publicUrl,
      address: '127.0.0.1',
      port,
      liveBoots,
      kernelParameters: EMULATED_KERNEL,
      ...ramdisk,
    })
    const bootfile = `${publicUrl}/boot.ipxe?mac=\${net0/mac}`
    const nic = `user,model=virtio-net-pci,mac=${MAC},bootfile=${bootfile}`
    simulated = await startMachine({ diskMb: DISK_MB, qemu: ['-nic', nic] })
    bmc = new Bmc(simulated.bmc)
    machine = { power: ipmiPower(bmc), management: ipmiManagement(bmc, false), macAddress: MAC }
  }, 400_000)
  afterAll(async () => {
    await bmc?.[Symbol.asyncDispose]()
    await simulated?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  test('reports its parts', async () => {
    const parts = await inspectMachine(machine, server, signal())

    expect(parts).toMatchObject({
      cpus: 1,
      architecture: 'x86_64',
      disks: [{ name: 'vda', sizeBytes: DISK_MB * 1024 ** 2 }],
      macAddresses: [MAC],
    })
    expect(parts.memoryMb).toBeGreaterThan(128)
    expect(await machine.power.isOn(signal())).toBe(false)
  })

  test('boots from the image that was written to its disk, which is empty again once cleaned', async () => {
    const content = Buffer.concat([echoDisk(), randomBytes(IMAGE_MB * 1024 ** 2 - 512)])
    const path = join(simulated.directory, 'image')
    await writeFile(path, content)
    const sha256 = createHash('sha256').update(content).digest('hex')

    const image = { path, sizeBytes: content.length, sha256 }
    await writeImage(machine, server, { image, patches: [] }, signal())
    expect((await diskBytes(disk(), content.length)).equals(content)).toBe(true)

    await machine.management.bootFrom('disk', signal())
    await machine.power.on(signal())
    await expect.poll(() => simulated.consoleLog(), { timeout: 60_000 }).toMatch(/READY\s*$/)

    await cleanMachine(machine, server, signal())
    const left = await diskBytes(disk(), DISK_MB * 1024 ** 2)
    expect(left.every((byte) => byte === 0)).toBe(true)
  })
})

async function diskBytes(path: string, bytes: number): Promise<Buffer> {
  await using file = await open(path)
  const { buffer } = await file.read(Buffer.alloc(bytes), 0, bytes, 0)
  return buffer
}
