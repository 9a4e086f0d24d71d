import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { RunOptions, RunResult } from '#drivers/run.ts'
import { removeHolder, runningHolder, writeHolder } from '../namespace/holder-file.ts'
import { endNamespace, type Holder, runInside, startNamespace } from '../namespace/namespace.ts'
import { computeChecksums } from './host.ts'

/** A network between the hosts of all cells of a deployment on one machine, in namespaces of its own. */
export interface RunningUnderlay {
  readonly holder: Holder
  /** The bridge between the hosts' tunnels. */
  readonly bridge: string
  /** The bridge of a network outside all hosts, on which the underlay's own namespace has an address. */
  readonly publicBridge: string
  /** The bridge of a network of the site, for machines: nothing of the underlay's own is on it. */
  readonly siteBridge: string
  /** Runs a command outside the hosts, from which the public network is reachable. */
  run(command: string, args: readonly string[], options: RunOptions): Promise<RunResult>
  stop(): Promise<void>
}

const STEP_MS = 10_000
const BRIDGE = 'underlay'
const PUBLIC_BRIDGE = 'public'
const SITE_BRIDGE = 'site'
/** A block for documentation (RFC 5737), which is not routed. */
export const OUTSIDE = { cidr: '203.0.113.0/24', address: '203.0.113.1', prefix: 24 } as const
/**
 * A bridge without an address of its own takes that of a port, and another when the port goes: routers would remember
 * the old one.
 */
const PUBLIC_MAC = '02:00:cb:00:71:01'
/** Room for the headers of tunnels around packets of 1,500 bytes. */
const MTU = '1600'

/** Afterwards there is a bridge that hosts can join, which leads nowhere else. Needs root. */
export async function startUnderlay(directory: string): Promise<RunningUnderlay> {
  const home = resolve(directory)
  await mkdir(home, { recursive: true, mode: 0o711 })
  const holder = (await runningHolder(home)) ?? (await startHolder(home))
  return {
    holder,
    bridge: BRIDGE,
    publicBridge: PUBLIC_BRIDGE,
    siteBridge: SITE_BRIDGE,
    run: (command, args, options) => runInside(holder, command, args, options),
    stop: () => stopUnderlay(home),
  }
}

/** Ends the underlay whose state is under `directory`, if it runs: for processes that did not start it. */
export async function stopUnderlay(directory: string): Promise<void> {
  const home = resolve(directory)
  const holder = await runningHolder(home)
  if (holder !== undefined) await endNamespace(holder)
  await removeHolder(home)
}

async function startHolder(home: string): Promise<Holder> {
  const holder = await startNamespace()
  const ip = (...args: string[]) => runInside(holder, 'ip', args, { timeoutMs: STEP_MS })
  try {
    await ip('link', 'set', 'lo', 'up')
    for (const bridge of [BRIDGE, PUBLIC_BRIDGE, SITE_BRIDGE]) {
      await ip('link', 'add', bridge, 'mtu', MTU, 'type', 'bridge')
      await ip('link', 'set', bridge, 'up')
    }
    await ip('link', 'set', PUBLIC_BRIDGE, 'address', PUBLIC_MAC)
    await ip('address', 'add', `${OUTSIDE.address}/${OUTSIDE.prefix}`, 'dev', PUBLIC_BRIDGE)
    await computeChecksums(holder, PUBLIC_BRIDGE)
    await writeHolder(home, holder)
    return holder
  } catch (error) {
    await endNamespace(holder)
    throw error
  }
}
