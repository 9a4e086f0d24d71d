import { Failure } from '#common/errors.ts'
import type { ImageId, InstanceId, OperationId } from '#common/ids.ts'
import { POWER_STATES, type PowerState } from '#common/states/instance-states.ts'
import type { Capability, Driver } from '#drivers/driver.ts'
import type { Act, ActName } from '#openapi/wire/act.ts'
import type { HostAnswer } from '#openapi/wire/host.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { answerOf } from './answer.ts'
import type { Compute } from './compute.ts'
import { configDriveFiles } from './config-drive.ts'
import type { ImageTarget } from './image-client.ts'
import { instanceSpec } from './instance-spec.ts'
import { RANKS } from './workbench.ts'

interface ActAsk {
  readonly operation: OperationRef
  readonly act: Act
  readonly graceMs: number
  readonly runs?: boolean
}

/** Absent: as it was. */
const AFTERWARDS: Readonly<Partial<Record<ActName, PowerState>>> = {
  start: 'running',
  stop: 'shutdown',
  'reboot-soft': 'running',
  'reboot-hard': 'running',
  pause: 'paused',
  unpause: 'running',
  suspend: 'shutdown',
  resume: 'running',
  rescue: 'running',
  unrescue: 'running',
  shelve: 'shutdown',
  'shelve-offload': 'shutdown',
  unshelve: 'running',
  'soft-delete': 'shutdown',
  restore: 'running',
}

/** Afterwards it has been done to the guest. */
export function act(compute: Compute, ask: ActAsk): Promise<HostAnswer> {
  const { attempts, fence, log, workbench, answerWithinMs } = compute
  const { operation } = ask
  const id = operation.serverId as InstanceId
  const run = async (signal: AbortSignal): Promise<HostAnswer> => {
    fence.assertOpen()
    const newer = await attempts.begin(id, operation.attempt)
    if (newer !== undefined) return { state: 'stale', attempt: newer }
    return answerOf(
      async () => {
        await perform(compute, id, ask, signal)
        const after = powerAfter(ask)
        return after === undefined
          ? { state: 'done' }
          : { state: 'done', powerState: POWER_STATES[after] }
      },
      signal,
      log,
    )
  }
  const rank = TAKING_OVER.includes(ask.act.name) ? RANKS.takingOver : RANKS.ordinary
  const job = { operation: operation.id as OperationId, instance: id, rank, run }
  return workbench.ask(job, answerWithinMs)
}

/** Acts that leave the guest in one state whatever was being done to it: the cell lets them begin over others. */
const TAKING_OVER: readonly ActName[] = ['reboot-hard', 'soft-delete']

const STARTING_ANEW: readonly ActName[] = ['rebuild', 'resize', 'revert-resize']

function powerAfter({ act: { name }, runs = true }: ActAsk): PowerState | undefined {
  if (STARTING_ANEW.includes(name)) return runs ? 'running' : 'shutdown'
  return AFTERWARDS[name]
}

function perform(
  compute: Compute,
  id: InstanceId,
  { act: asked, graceMs, runs = true }: ActAsk,
  signal: AbortSignal,
): Promise<void> {
  const { driver } = compute
  switch (asked.name) {
    case 'start':
    case 'restore':
      return driver.start(id, signal)
    case 'stop':
    case 'soft-delete':
      return driver.stop(id, graceMs, signal)
    case 'reboot-soft':
      return driver.reboot(id, 'soft', graceMs, signal)
    case 'reboot-hard':
      return driver.reboot(id, 'hard', graceMs, signal)
    case 'pause':
      return part(driver, 'pause').pause(id, signal)
    case 'unpause':
      return part(driver, 'pause').unpause(id, signal)
    case 'suspend':
      return part(driver, 'suspend').suspend(id, signal)
    case 'resume':
      return part(driver, 'suspend').resume(id, signal)
    case 'rescue': {
      const image = { ...asked.build.image, id: asked.build.image.id as ImageId }
      const configDrive = configDriveFiles(id, asked.build)
      const { adminPassword } = asked.build
      const spec = { image, configDrive, adminPassword, graceMs }
      return part(driver, 'rescue').rescue(id, spec, signal)
    }
    case 'unrescue':
      return part(driver, 'rescue').unrescue(id, signal)
    case 'change-password':
      return part(driver, 'password').set(id, asked.password, signal)
    case 'crash-dump':
      return part(driver, 'crashDump').trigger(id, signal)
    case 'create-image':
    case 'create-backup':
      return saveDisk(compute, id, asked.target, signal)
    case 'shelve':
      return driver
        .stop(id, graceMs, signal)
        .then(() => saveDisk(compute, id, asked.target, signal))
    case 'shelve-offload':
      return driver.destroy(id, signal)
    case 'unshelve':
      return driver.spawn(instanceSpec(id, asked.build), signal)
    case 'rebuild': {
      const { keepsEphemeral, build } = asked
      const how = { keepsEphemeral, runs }
      return part(driver, 'rebuild').rebuild(instanceSpec(id, build), how, signal)
    }
    case 'resize':
      return part(driver, 'resize').resize(instanceSpec(id, asked.build), { runs, graceMs }, signal)
    case 'confirm-resize':
      return part(driver, 'resize').confirm(id, signal)
    case 'revert-resize':
      return part(driver, 'resize').revert(instanceSpec(id, asked.build), { runs, graceMs }, signal)
  }
}

/** Afterwards the image holds the guest's root disk, as it was at one moment. */
async function saveDisk(
  { driver, images }: Compute,
  id: InstanceId,
  target: ImageTarget,
  signal: AbortSignal,
): Promise<void> {
  await using disk = await part(driver, 'snapshot').take(id, signal)
  await images.fill(target, disk, signal)
}

function part<C extends Capability>(driver: Driver, capability: C): NonNullable<Driver[C]> {
  const found = driver[capability]
  if (found === undefined)
    throw new Failure(
      'unsupported',
      `Driver '${driver.name}' lacks what this needs: ${capability}.`,
    )
  return found as NonNullable<Driver[C]>
}
