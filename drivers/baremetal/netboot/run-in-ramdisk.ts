import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Failure } from '#common/errors.ts'
import type { Power } from '../../machine-power.ts'
import type { MachineParts } from '../../nodes.ts'
import type { Management } from '../parts/management.ts'
import type { BootServer } from './boot-server.ts'
import { machineParts } from './machine-parts.ts'
import type { DiskWrite, RamdiskTask } from './tasks.ts'

/** A machine that can be switched, and that boots from the network with this MAC address. */
export interface Machine {
  readonly power: Power
  readonly management: Pick<Management, 'bootFrom'>
  readonly macAddress: string
}

const POLL_MS = 5_000

/** Afterwards the machine is off. Says what it is made of. */
export async function inspectMachine(
  machine: Machine,
  server: BootServer,
  signal: AbortSignal,
): Promise<MachineParts> {
  return machineParts(await runInRamdisk(machine, server, { kind: 'inspect' }, signal))
}

/** Afterwards the machine is off, and its first disk begins with the image and has the patches. Throws `internal` when it cannot. */
export async function writeImage(
  machine: Machine,
  server: BootServer,
  { image, patches }: DiskWrite,
  signal: AbortSignal,
): Promise<void> {
  const task = { kind: 'write', image, patches } as const
  const report = await runInRamdisk(machine, server, task, signal)
  const written = report.split('\n').filter((line) => line !== '')
  const wanted = [image.sha256, ...patches.map(({ content }) => sha256Of(content))]
  if (!isDeepStrictEqual(written, wanted))
    throw new Failure('internal', 'The disk does not hold what was written to it.', {
      detail: `its SHA-256s are ${written.join(', ')}, not ${wanted.join(', ')}`,
    })
}

function sha256Of(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

/** Afterwards the machine is off, and its disks hold nothing. */
export async function cleanMachine(
  machine: Machine,
  server: BootServer,
  signal: AbortSignal,
): Promise<void> {
  await runInRamdisk(machine, server, { kind: 'clean' }, signal)
}

async function runInRamdisk(
  { power, management, macAddress }: Machine,
  server: BootServer,
  task: RamdiskTask,
  signal: AbortSignal,
): Promise<string> {
  const over = new AbortController()
  const taskSignal = AbortSignal.any([signal, over.signal])
  const begin = async () => {
    await power.off(taskSignal)
    await management.bootFrom('network-once', taskSignal)
    await power.on(taskSignal)
    void endWithMachine(power, over, taskSignal)
  }
  const running = server.run(macAddress, task, begin, taskSignal)
  const report = await running.finally(() => over.abort())
  // A reported task is done, and its data are on the disk.
  await power.off(signal)
  return report
}

/**
 * Runs until the task is over: ends it when the machine has gone off by itself, or its power state can no longer be
 * read.
 */
async function endWithMachine(
  power: Power,
  over: AbortController,
  signal: AbortSignal,
): Promise<void> {
  try {
    while (await power.isOn(signal)) await sleep(POLL_MS, undefined, { signal })
    over.abort(new Failure('internal', 'The machine went off before it had done its task.'))
  } catch (error) {
    over.abort(error)
  }
}
