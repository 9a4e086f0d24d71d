import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { Pause, RebootKind, Suspend } from '../driver.ts'
import type { CrashDump } from '../guest-diagnostics.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { hasIoError, OFF, powerStateOf } from './domains/power-state.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import { readInstanceRecord } from './instance-record.ts'
import type { DomainRef } from './rpc/refs.ts'
import { startDomain } from './start-domain.ts'
import { admitVolumes } from './volumes/admit-volumes.ts'

const POLL_MS = 200
/** A guest that is still booting does not hear the first press (Nova repeats it as well). */
const PRESS_AGAIN_MS = 5_000

/** Afterwards the guest runs. */
export async function start(host: LibvirtHost, id: InstanceId, signal: AbortSignal): Promise<void> {
  await host.locks.run(id, signal, async () => {
    await powerOn(host, id, await getOwnDomain(host.domains, host.owner, id, signal), signal)
  })
}

/** Afterwards the guest is off. */
export async function stop(
  host: LibvirtHost,
  id: InstanceId,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.run(id, signal, async () => {
    const domain = await getOwnDomain(host.domains, host.owner, id, signal)
    await powerOff(host, domain, graceMs, signal)
  })
}

/**
 * Afterwards the guest has started again. Soft is a shutdown and a start, as in Nova, and not libvirt's own reboot:
 * that one never says whether the guest followed.
 */
export async function reboot(
  host: LibvirtHost,
  id: InstanceId,
  request: { readonly how: RebootKind; readonly graceMs: number },
  signal: AbortSignal,
): Promise<void> {
  await host.locks.run(id, signal, async () => {
    const domain = await getOwnDomain(host.domains, host.owner, id, signal)
    await powerOff(host, domain, request.how === 'soft' ? request.graceMs : 0, signal)
    if (await host.domains.isSaved(domain, signal)) await host.domains.forgetSaved(domain, signal)
    await powerOn(host, id, await getOwnDomain(host.domains, host.owner, id, signal), signal)
  })
}

/** Afterwards the domain runs, with the networks it needs. The caller holds the instance's lock. */
export async function powerOn(
  host: LibvirtHost,
  id: InstanceId,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<void> {
  const state = await powerState(host, domain, signal)
  if (state === 'paused') return unpause(host, domain, signal)
  if (!OFF.has(state)) return
  const record = await readInstanceRecord(filesOf(host, id))
  for (const nic of record?.nics ?? []) await host.networks.plug(nic, signal)
  await admitVolumes(host, record?.volumes ?? [], signal)
  await startDomain(host, id, domain, signal)
}

/** Afterwards the domain is off, from any state. */
export async function cutPower(
  host: LibvirtHost,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<void> {
  await host.domains.cut(domain, signal).catch((error: unknown) => {
    // `conflict`: it is not running.
    if (!isFailure(error, 'conflict', 'not-found')) throw error
  })
}

/** Afterwards the domain is off: asked to shut down first, cut off after `graceMs`. The caller holds the lock. */
export async function powerOff(
  host: LibvirtHost,
  domain: DomainRef,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + graceMs
  let pressAt = 0
  while (performance.now() < deadline) {
    const state = await powerState(host, domain, signal)
    if (OFF.has(state)) return
    if (state === 'paused') break // A frozen guest hears nothing.
    if (performance.now() >= pressAt) {
      await pressPowerButton(host, domain, signal)
      pressAt = performance.now() + PRESS_AGAIN_MS
    }
    await sleep(POLL_MS, undefined, { signal })
  }
  await cutPower(host, domain, signal)
}

async function pressPowerButton(
  host: LibvirtHost,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<void> {
  await host.domains.pressPowerButton(domain, signal).catch((error: unknown) => {
    // `conflict`: it went off between the two calls.
    if (!isFailure(error, 'conflict')) throw error
  })
}

/** True while the guest is off. */
export async function isOff(
  host: LibvirtHost,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<boolean> {
  return OFF.has(await powerState(host, domain, signal))
}

async function powerState(
  host: LibvirtHost,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<PowerState> {
  return powerStateOf(await host.domains.state(domain, signal))
}

/** Afterwards a paused guest runs on; QEMU repeats what it could not write. */
async function unpause(host: LibvirtHost, domain: DomainRef, signal: AbortSignal): Promise<void> {
  if (await host.domains.isHeld(domain, signal)) await host.domains.setHeld(domain, false, signal)
  await host.domains.resume(domain, signal)
}

/** Freezes and thaws guests in memory. */
export function libvirtPause(host: LibvirtHost): Pause {
  return {
    pause: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const domain = await getOwnDomain(host.domains, host.owner, id, signal)
        const state = powerStateOf(await host.domains.state(domain, signal))
        if (state !== 'running' && state !== 'paused')
          throw new Failure('conflict', `Instance ${id} is not running, so it cannot be paused.`)
        if (state === 'running') await host.domains.suspend(domain, signal)
        // One that QEMU has paused libvirt leaves as it is.
        if (hasIoError(await host.domains.state(domain, signal)))
          await host.domains.setHeld(domain, true, signal)
      }),
    unpause: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const domain = await getOwnDomain(host.domains, host.owner, id, signal)
        const state = powerStateOf(await host.domains.state(domain, signal))
        if (state === 'running') return
        if (state !== 'paused') throw new Failure('conflict', `Instance ${id} is not paused.`)
        await unpause(host, domain, signal)
      }),
  }
}

/** Suspends guests to disk (libvirt's managed save), as Nova's driver does. */
export function libvirtSuspend(host: LibvirtHost): Suspend {
  return {
    suspend: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const domain = await getOwnDomain(host.domains, host.owner, id, signal)
        const state = powerStateOf(await host.domains.state(domain, signal))
        if (state === 'running') return host.domains.save(domain, signal)
        if (await host.domains.isSaved(domain, signal)) return
        throw new Failure('conflict', `Instance ${id} is not running, so it cannot be suspended.`)
      }),
    resume: (id, signal) =>
      host.locks.run(id, signal, async () => {
        // A start reads what was saved.
        await powerOn(host, id, await getOwnDomain(host.domains, host.owner, id, signal), signal)
      }),
  }
}

/** A non-maskable interrupt: what a guest does then, such as writing a dump, is its own affair. */
export function libvirtCrashDump(host: LibvirtHost): CrashDump {
  return {
    trigger: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const domain = await getOwnDomain(host.domains, host.owner, id, signal)
        await host.domains.injectNmi(domain, signal).catch((error: unknown) => {
          if (!isFailure(error, 'conflict')) throw error
          const message = `Instance ${id} is not running, so it cannot crash.`
          throw new Failure('conflict', message, { cause: error })
        })
      }),
  }
}
