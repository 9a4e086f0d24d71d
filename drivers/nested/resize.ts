import { Failure } from '#common/errors.ts'
import type { InstanceSpec, Resize, ResizeOptions } from '../driver.ts'
import { actOnServer, awaitStatus } from './compute/act-on-server.ts'
import {
  type CloudServer,
  FLAVOR_SHOWN_SINCE,
  ShownServer,
  showServer,
} from './compute/cloud-server.ts'
import { idleServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'
import { flavorBelow } from './map/match-flavor.ts'
import { powerOff, powerOn } from './power.ts'

const RESIZED = 'VERIFY_RESIZE'
const AT_REST = ['ACTIVE', 'SHUTOFF']

/**
 * The cloud keeps the former disks until the resize is confirmed or reverted; a server it has resized cannot be
 * started or stopped before.
 */
export function nestedResize(host: NestedHost): Resize {
  return {
    resize: (spec, how, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        resize(host, spec, how, lockSignal),
      ),
    confirm: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await idleServer(host, id, signal)
        if (server.status === RESIZED) await decide(host, server, 'confirmResize', signal)
      }),
    revert: (spec, { runs }, signal) =>
      host.locks.run(spec.id, signal, async () => {
        const server = await idleServer(host, spec.id, signal)
        if (server.status === RESIZED) await decide(host, server, 'revertResize', signal)
        await setPower(host, spec, runs, signal)
      }),
  }
}

async function resize(
  host: NestedHost,
  spec: InstanceSpec,
  { runs }: ResizeOptions,
  signal: AbortSignal,
): Promise<void> {
  const server = await idleServer(host, spec.id, signal)
  const flavorRef = await flavorBelow(host, spec.flavor, signal)
  const isResized = server.status === RESIZED
  if (isResized && flavorRef === (await flavorOf(host, server, signal))) return
  const diskGb = server.image === '' ? 0 : await diskOf(host, server, signal)
  if (diskGb > spec.flavor.rootGb && spec.flavor.rootGb > 0)
    throw new Failure('invalid', 'Unable to resize disk down.')
  // Over a resize that was neither confirmed nor reverted: its result is the state that this one starts from, and is
  // reverted to.
  if (isResized) await decide(host, server, 'confirmResize', signal)
  const before = await setPower(host, spec, runs, signal)
  await actOnServer(host, before, { body: { resize: { flavorRef } }, until: [RESIZED] }, signal)
}

/** Nova shows a server that it confirms as one that waits for it, without a task. */
async function decide(
  host: NestedHost,
  { id }: CloudServer,
  action: 'confirmResize' | 'revertResize',
  signal: AbortSignal,
): Promise<void> {
  const body = { [action]: null }
  await host.cloud.call('compute', 'POST', `/servers/${id}/action`, { body, signal })
  await host.view.until(id, (seen) => seen.status !== RESIZED, signal)
  await awaitStatus(host, id, AT_REST, signal)
}

async function setPower(
  host: NestedHost,
  { id }: InstanceSpec,
  runs: boolean,
  signal: AbortSignal,
): Promise<CloudServer> {
  await (runs ? powerOn : powerOff)(host, await idleServer(host, id, signal), signal)
  return idleServer(host, id, signal)
}

/** The id of the cloud's flavor, which only the oldest microversions show of a server. */
async function flavorOf(
  { cloud }: NestedHost,
  { id }: CloudServer,
  signal: AbortSignal,
): Promise<string | undefined> {
  return (await showServer(cloud, id, signal))?.flavor.id
}

/** 0 where the cloud does not show it. */
async function diskOf(
  { cloud, versions }: NestedHost,
  { id }: CloudServer,
  signal: AbortSignal,
): Promise<number> {
  const microversion = await versions.ifServed(FLAVOR_SHOWN_SINCE, signal)
  if (microversion === undefined) return 0
  const asked = { microversion, signal }
  const { body } = await cloud.ask(ShownServer, 'compute', 'GET', `/servers/${id}`, asked)
  return body.server.flavor.disk ?? 0
}
