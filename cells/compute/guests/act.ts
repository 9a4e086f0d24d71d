import type { InstanceId, OperationId } from '#common/ids.ts'
import { POWER_STATES, type PowerState } from '#common/states/instance-states.ts'
import type { Act, ActName, HostAct, HostMoveAct } from '#openapi/wire/act.ts'
import type { HostAnswer } from '#openapi/wire/host.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import type { VolumeKeys } from '#openapi/wire/volume.ts'
import { answerOf } from '../answer.ts'
import type { Compute } from '../compute.ts'
import { driverPart } from '../driver-part.ts'
import { configDriveFiles } from '../metadata/config-drive.ts'
import { withKeys } from '../volumes/with-keys.ts'
import { imageSpec, instanceSpec } from './instance-spec.ts'
import { RANKS } from './instance-work-queue.ts'
import { type Moved, moveAct } from './move-act.ts'
import { saveBackup } from './save-backup.ts'
import { offload, saveAndNote, saveDisk, shelve } from './save-disk.ts'

interface ActAsk<A extends HostAct = HostAct> {
  readonly operation: OperationRef
  readonly act: A
  readonly graceMs: number
  readonly runs?: boolean
  readonly keys?: VolumeKeys
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
export async function act(compute: Compute, ask: ActAsk): Promise<HostAnswer> {
  const { attempts, fence, log, workQueue, answerWithinMs } = compute
  const { operation } = ask
  const id = operation.serverId as InstanceId
  const run = async (signal: AbortSignal): Promise<HostAnswer> => {
    fence.assertOpen()
    const newer = await attempts.begin(id, operation.attempt)
    if (newer !== undefined) return { state: 'stale', attempt: newer }
    return answerOf(
      async () => {
        const { powerState, peerInfo } = await withKeys(
          compute.driver,
          { keys: ask.keys, ...holdingOf(ask) },
          signal,
          () => outcomeOf(compute, id, ask, signal),
        )
        return {
          state: 'done',
          ...(powerState !== undefined && { powerState: POWER_STATES[powerState] }),
          ...(peerInfo !== undefined && { peerInfo, told: peerInfo }),
        }
      },
      signal,
      log.child({ server_id: id }),
    )
  }
  const rank = TAKING_OVER.includes(ask.act.name) ? RANKS.takingOver : RANKS.ordinary
  const job = { operation: operation.id as OperationId, subject: id, rank, run }
  // An act that was done, and whose guest was destroyed since, is not answered as done.
  const refusing = attempts.refusing(id, operation.attempt)
  if (refusing !== undefined) return { state: 'stale', attempt: refusing }
  return workQueue.ask(job, answerWithinMs)
}

/** A guest that comes while it runs needs its keys until it is here, and an act on it, or its end, says that it is. */
function holdingOf({ operation, act: { name } }: ActAsk) {
  const comes = `server ${operation.serverId}`
  return name === 'expect' ? { holder: comes, isKept: true } : { holder: operation.id, ends: comes }
}

async function outcomeOf(
  compute: Compute,
  id: InstanceId,
  ask: ActAsk,
  signal: AbortSignal,
): Promise<Moved> {
  const { metadata } = compute
  const { operation, act: asked } = ask
  // A rescue's image is not the guest's.
  if (metadata === undefined || !('build' in asked) || asked.name === 'rescue')
    return workOf(compute, id, ask, signal)
  const work = () => workOf(compute, id, ask, signal)
  return metadata.during(id, operation.attempt, asked.build, work)
}

async function workOf(
  compute: Compute,
  id: InstanceId,
  ask: ActAsk,
  signal: AbortSignal,
): Promise<Moved> {
  const { graceMs, runs = true } = ask
  if (isPartOfMove(ask.act)) return moveAct(compute, id, ask.act, { graceMs, runs }, signal)
  const asked = { ...ask, act: ask.act }
  await perform(compute, id, asked, signal)
  const powerState = powerAfter(asked)
  return powerState === undefined ? {} : { powerState }
}

const PARTS_OF_MOVES: ReadonlySet<string> = new Set<HostMoveAct['name']>([
  'pack',
  'unpack',
  'arrive',
  'evacuate',
  'announce',
  'expect',
  'send',
  'finish',
  'land',
])

function isPartOfMove(asked: HostAct): asked is HostMoveAct {
  return PARTS_OF_MOVES.has(asked.name)
}

/** Acts that leave the guest in one state, whichever act ran before: the cell lets them begin while another act runs. */
const TAKING_OVER: readonly HostAct['name'][] = ['reboot-hard', 'soft-delete']

const STARTING_GUEST: readonly ActName[] = ['rebuild', 'resize', 'revert-resize']

function powerAfter({ act: { name }, runs = true }: ActAsk<Act>): PowerState | undefined {
  if (STARTING_GUEST.includes(name)) return runs ? 'running' : 'shutdown'
  return AFTERWARDS[name]
}

async function perform(
  compute: Compute,
  id: InstanceId,
  { act: asked, graceMs, runs = true }: ActAsk<Act>,
  signal: AbortSignal,
): Promise<void> {
  const { driver } = compute
  const how = { runs, graceMs }
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
      return driverPart(driver, 'pause').pause(id, signal)
    case 'unpause':
      return driverPart(driver, 'pause').unpause(id, signal)
    case 'suspend':
      return driverPart(driver, 'suspend').suspend(id, signal)
    case 'resume':
      return driverPart(driver, 'suspend').resume(id, signal)
    case 'rescue': {
      const image = imageSpec(asked.build.image)
      const configDrive = configDriveFiles(id, asked.build)
      const { adminPassword } = asked.build
      const spec = { image, configDrive, adminPassword, graceMs }
      return driverPart(driver, 'rescue').rescue(id, spec, signal)
    }
    case 'unrescue':
      return driverPart(driver, 'rescue').unrescue(id, signal)
    case 'change-password':
      return driverPart(driver, 'password').set(id, asked.password, signal)
    case 'crash-dump':
      return driverPart(driver, 'crashDump').trigger(id, signal)
    case 'create-image':
    case 'create-backup':
      if (asked.notesChanges === true) return saveAndNote(compute, id, asked.target, signal)
      if (asked.backupSince !== undefined)
        return saveBackup(compute, id, asked.target, asked.backupSince, signal)
      return saveDisk(compute, id, asked.target, signal)
    case 'forget-changes':
      return driverPart(driver, 'diskChanges').forget(id, signal)
    case 'shelve':
      return shelve(compute, id, { ...asked, graceMs, runs }, signal)
    case 'shelve-offload':
      return offload(compute, id, signal)
    case 'unshelve':
      return driver.spawn(instanceSpec(id, asked.build), signal)
    case 'rebuild': {
      const spec = instanceSpec(id, asked.build)
      const { keepsEphemeral, reimages = false } = asked
      const options = { keepsEphemeral, runs, reimages }
      return driverPart(driver, 'rebuild').rebuild(spec, options, signal)
    }
    case 'resize':
      return driverPart(driver, 'resize').resize(instanceSpec(id, asked.build), how, signal)
    case 'confirm-resize':
      return driverPart(driver, 'resize').confirm(id, signal)
    case 'revert-resize':
      return driverPart(driver, 'resize').revert(instanceSpec(id, asked.build), how, signal)
  }
}
