import { Failure } from '#common/errors.ts'
import { run } from '#drivers/run.ts'
import { type Holder, runInside } from '../namespace/namespace.ts'
import { findProgram } from '../process/find-program.ts'
import { computeChecksums } from './host.ts'
import { OUTSIDE } from './underlay.ts'

/** On this machine, and its other end outside all hosts. */
const INTERFACE = 'weir-public'
const OTHER_END = 'machine'
/** Of another block for documentation (RFC 5737). */
const ADDRESSES = {
  machine: '192.0.2.2/30',
  outside: '192.0.2.1/30',
  gateway: '192.0.2.1',
} as const
const STEP_MS = 10_000

/**
 * Afterwards this machine reaches floating IPs: it has one interface and one route more, which go with the namespaces of
 * the outside. False when they were there. Throws `conflict` where another deployment has the interface.
 */
export async function addHostRoute(outside: Holder): Promise<boolean> {
  const inside = (...args: string[]) => runInside(outside, 'ip', args, { timeoutMs: STEP_MS })
  if (await succeeds(ip('link', 'show', INTERFACE))) {
    if (await succeeds(inside('link', 'show', OTHER_END))) return false
    throw new Failure(
      'conflict',
      `This machine has an interface ${INTERFACE} of another deployment. Stop that deployment, or leave out --host-route.`,
    )
  }
  const peer = ['peer', 'name', OTHER_END, 'netns', String(outside.pid)]
  await ip('link', 'add', INTERFACE, 'type', 'veth', ...peer)
  try {
    await computeChecksums(outside, OTHER_END)
    await run(findProgram('ethtool'), ['-K', INTERFACE, 'tx', 'off'], { timeoutMs: STEP_MS })
    await inside('address', 'add', ADDRESSES.outside, 'dev', OTHER_END)
    await inside('link', 'set', OTHER_END, 'up')
    const forward = ['-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward']
    await runInside(outside, 'sh', forward, { timeoutMs: STEP_MS })
    await ip('address', 'add', ADDRESSES.machine, 'dev', INTERFACE)
    await ip('link', 'set', INTERFACE, 'up')
    await ip('route', 'add', OUTSIDE.cidr, 'via', ADDRESSES.gateway, 'dev', INTERFACE)
    return true
  } catch (error) {
    await ip('link', 'delete', INTERFACE)
    throw error
  }
}

/** What `up` says of it. */
export function describeHostRoute(): string {
  return `This machine reaches ${OUTSIDE.cidr} by its new interface ${INTERFACE}. ./weir down removes the interface and the route.`
}

function ip(...args: string[]) {
  return run('ip', args, { timeoutMs: STEP_MS })
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}
