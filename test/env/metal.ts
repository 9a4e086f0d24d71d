import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { createBaremetalDriver } from '#drivers/baremetal/driver.ts'
import { type BaremetalSettings, baremetalSettings } from '#drivers/baremetal/settings.ts'
import { TestMachine } from '#drivers/baremetal/testing/test-machine.ts'
import type { Driver, ImageSpec, InstanceSpec } from '#drivers/driver.ts'
import type { NodeReport } from '#drivers/nodes.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { TestImages } from '#drivers/testing/test-images.ts'

const READY_MS = 60_000
const RESOURCES = { 'resources:CUSTOM_METAL_4CPU_8GB_4GB': '1' }

/** A host with one machine, which is ready for a server. */
export interface Metal extends AsyncDisposable {
  readonly directory: string
  readonly machine: TestMachine
  readonly images: TestImages
  driver: Driver
  /** Afterwards a host is there again, over the same state. */
  reopen(): Promise<void>
  spec(image: ImageSpec): InstanceSpec
  node(): Promise<NodeReport>
  /** The node once it is in this state. */
  untilNode(state: NodeReport['state']): Promise<NodeReport>
}

export async function startMetal(change: Partial<BaremetalSettings> = {}): Promise<Metal> {
  await using owned = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'weir-metal-'))
  owned.defer(() => rm(directory, { recursive: true, force: true }))
  const bootUrl = `http://127.0.0.1:${await freePort()}`
  const machine = owned.use(await TestMachine.start(bootUrl, '52:54:00:12:34:56'))
  const images = new TestImages()
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const settings = {
    ...baremetalSettings({
      boot_url: bootUrl,
      ramdisk_kernel: '/dev/null',
      ramdisk_initrd: '/dev/null',
      secret_key: '5a'.repeat(32),
      bmc_seconds: '1',
    }),
    ...change,
  }
  const open = () =>
    createBaremetalDriver({ owner, stateDirectory: directory, images: images }, settings)
  const node = async () => (await metal.driver.nodes!.list(AbortSignal.timeout(READY_MS)))[0]!
  const driver = await open()
  owned.defer(() => metal.driver[Symbol.asyncDispose]())
  const metal: Metal = {
    directory,
    machine,
    images,
    driver,
    reopen: async () => {
      metal.driver = await open()
    },
    spec: (image) => {
      const spec = instanceSpec(image)
      return { ...spec, flavor: { ...spec.flavor, extraSpecs: RESOURCES } }
    },
    node,
    untilNode: (state) =>
      waitFor(
        `the node to be ${state}`,
        async () => {
          const now = await node()
          return now.state === state ? now : undefined
        },
        READY_MS,
      ),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
  await driver.nodes!.add(machine.enrolment, AbortSignal.timeout(READY_MS))
  await metal.untilNode('available')
  const running = owned.move()
  return metal
}
