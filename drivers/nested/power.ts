import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { Pause, RebootKind, Suspend } from '../driver.ts'
import type { CrashDump } from '../guest-diagnostics.ts'
import type { Password } from '../password.ts'
import { RESCUE_DEVICE, type Rescue, refuseUnstable } from '../rescue.ts'
import { actOnServer } from './compute/act-on-server.ts'
import { type CloudServer, isBusy, isVolumeBacked, powerStateOf } from './compute/cloud-server.ts'
import { ROOT_RESCUE_SINCE } from './compute/compute-versions.ts'
import { getServer, idleServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'

/** Afterwards the guest runs. */
export async function start(host: NestedHost, id: InstanceId, signal: AbortSignal): Promise<void> {
  await host.locks.run(id, signal, async () => {
    await powerOn(host, await idleServer(host, id, signal), signal)
  })
}

/** Afterwards the guest is off. How long it may take to shut down by itself, its cloud decides. */
export async function stop(host: NestedHost, id: InstanceId, signal: AbortSignal): Promise<void> {
  await host.locks.run(id, signal, async () => {
    await powerOff(host, await idleServer(host, id, signal), signal)
  })
}

/** Afterwards the guest has started again. */
export async function reboot(
  host: NestedHost,
  id: InstanceId,
  how: RebootKind,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.run(id, signal, async () => {
    if (how === 'soft') return rebootNow(host, await idleServer(host, id, signal), how, signal)
    const server = await getServer(host, id, signal)
    try {
      await rebootNow(host, server, how, signal)
    } catch (error) {
      // Clouds differ in which of these tasks a reboot may interrupt.
      if (!isBusy(server) || !isFailure(error, 'conflict')) throw error
      await rebootNow(host, await idleServer(host, id, signal), how, signal)
    }
  })
}

async function rebootNow(
  host: NestedHost,
  server: CloudServer,
  how: RebootKind,
  signal: AbortSignal,
): Promise<void> {
  if (powerStateOf(server) === 'shutdown') return powerOn(host, server, signal)
  // A frozen guest hears nothing.
  const type = server.status === 'PAUSED' ? 'HARD' : how.toUpperCase()
  await actOnServer(host, server, { body: { reboot: { type } }, until: ['ACTIVE'] }, signal)
}

const ON: Readonly<Record<string, string>> = {
  PAUSED: 'unpause',
  SUSPENDED: 'resume',
  SHUTOFF: 'os-start',
}

/** Afterwards the guest runs. The caller holds the instance's lock. */
export async function powerOn(
  host: NestedHost,
  server: CloudServer,
  signal: AbortSignal,
): Promise<void> {
  const action = ON[server.status]
  if (action === undefined) return
  await actOnServer(host, server, { body: { [action]: null }, until: ['ACTIVE'] }, signal)
}

/** Afterwards the guest is off. The caller holds the instance's lock. */
export async function powerOff(
  host: NestedHost,
  server: CloudServer,
  signal: AbortSignal,
): Promise<void> {
  if (powerStateOf(server) === 'shutdown') return
  if (server.status === 'PAUSED') await powerOn(host, server, signal)
  await actOnServer(host, server, { body: { 'os-stop': null }, until: ['SHUTOFF'] }, signal)
}

export function nestedPause(host: NestedHost): Pause {
  return {
    pause: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await idleServer(host, id, signal)
        if (server.status === 'PAUSED') return
        if (server.status !== 'ACTIVE')
          throw new Failure('conflict', `Instance ${id} is not running, so it cannot be paused.`)
        await actOnServer(host, server, { body: { pause: null }, until: ['PAUSED'] }, signal)
      }),
    unpause: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await idleServer(host, id, signal)
        if (server.status === 'PAUSED') await powerOn(host, server, signal)
      }),
  }
}

export function nestedSuspend(host: NestedHost): Suspend {
  return {
    suspend: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await idleServer(host, id, signal)
        if (server.status === 'SUSPENDED') return
        if (server.status !== 'ACTIVE')
          throw new Failure('conflict', `Instance ${id} is not running, so it cannot be suspended.`)
        await actOnServer(host, server, { body: { suspend: null }, until: ['SUSPENDED'] }, signal)
      }),
    resume: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await idleServer(host, id, signal)
        if (server.status === 'SUSPENDED') await powerOn(host, server, signal)
      }),
  }
}

export function nestedCrashDump(host: NestedHost): CrashDump {
  return {
    trigger: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await idleServer(host, id, signal)
        const microversion = await host.versions.need('2.17', 'a crash dump', signal)
        const body = { trigger_crash_dump: null }
        await actOnServer(host, server, { body, until: [server.status], microversion }, signal)
      }),
  }
}

export function nestedRescue(host: NestedHost): Rescue {
  return {
    rescue: (id, { image, adminPassword }, signal) =>
      host.locks.runPreemptible(id, signal, async (lockSignal) => {
        const server = await idleServer(host, id, lockSignal)
        if (server.status === 'RESCUE') return
        const isBacked = isVolumeBacked(server)
        if (isBacked) refuseUnstable(id, image)
        const what = 'a rescue of a server that starts from a volume'
        const microversion = isBacked
          ? await host.versions.need(ROOT_RESCUE_SINCE, what, lockSignal)
          : undefined
        const rescue = {
          rescue_image_ref: await host.images.ensure(
            image,
            lockSignal,
            isBacked ? RESCUE_DEVICE : [],
          ),
          ...(adminPassword === null ? {} : { adminPass: adminPassword }),
        }
        const act = { body: { rescue }, until: ['RESCUE'], ...(microversion && { microversion }) }
        await actOnServer(host, server, act, lockSignal)
      }),
    unrescue: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await idleServer(host, id, signal)
        if (server.status === 'RESCUE')
          await actOnServer(host, server, { body: { unrescue: null }, until: ['ACTIVE'] }, signal)
      }),
  }
}

export function nestedPassword(host: NestedHost): Password {
  return {
    set: (id, password, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await idleServer(host, id, signal)
        const body = { changePassword: { adminPass: password } }
        await actOnServer(host, server, { body, until: [server.status] }, signal)
      }),
  }
}
