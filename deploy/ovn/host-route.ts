import { Failure } from '#common/errors.ts'
import { run } from '#drivers/run.ts'
import { type Holder, runInside } from '../namespace/namespace.ts'
import { findProgram } from '../process/find-program.ts'
import { freeBlock } from './free-block.ts'
import { computeChecksums } from './host.ts'
import { OUTSIDE } from './underlay.ts'

/** On this machine, and its other end outside all hosts. */
const INTERFACE = 'weir-public'
const OTHER_END = 'machine'
const STEP_MS = 10_000

/**
 * Afterwards this machine reaches floating IPs: it has one interface and one route more, which go with the namespaces of
 * the outside. False when they were there. Throws `conflict` where another deployment has the interface, and where no
 * addresses are free for it.
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
  const { machine, gateway, prefix } = freeBlock((await ip('-4', 'route', 'show')).stdout)
  const peer = ['peer', 'name', OTHER_END, 'netns', String(outside.pid)]
  await ip('link', 'add', INTERFACE, 'type', 'veth', ...peer)
  try {
    await computeChecksums(outside, OTHER_END)
    await run(findProgram('ethtool'), ['-K', INTERFACE, 'tx', 'off'], { timeoutMs: STEP_MS })
    await inside('address', 'add', `${gateway}/${prefix}`, 'dev', OTHER_END)
    await inside('link', 'set', OTHER_END, 'up')
    const forward = ['-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward']
    await runInside(outside, 'sh', forward, { timeoutMs: STEP_MS })
    await ip('address', 'add', `${machine}/${prefix}`, 'dev', INTERFACE)
    await ip('link', 'set', INTERFACE, 'up')
    await ip('route', 'add', OUTSIDE.cidr, 'via', gateway, 'dev', INTERFACE)
    return true
  } catch (error) {
    await ip('link', 'delete', INTERFACE)
    throw error
  }
}

/** Afterwards this machine has neither the interface nor the route, which the kernel would remove some time after the outside. */
export async function removeHostRoute(outside: Holder): Promise<void> {
  const inside = ['link', 'show', OTHER_END]
  if (!(await succeeds(runInside(outside, 'ip', inside, { timeoutMs: STEP_MS })))) return
  await ip('link', 'delete', INTERFACE)
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
