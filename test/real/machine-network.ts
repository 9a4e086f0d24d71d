import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const LIMIT_MS = 30_000

/** What the machine itself routes, filters and has interfaces for; counters and comments left out. */
export async function machineNetwork(): Promise<Readonly<Record<string, string>>> {
  return {
    routes: await outputOf('ip', 'route', 'show', 'table', 'all'),
    rules: await outputOf('ip', 'rule'),
    links: await outputOf('ip', '-brief', 'link'),
    addresses: await outputOf('ip', '-brief', 'address'),
    iptables: await outputOf('iptables-save'),
    nftables: await outputOf('nft', 'list', 'ruleset'),
    forwarding: await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8'),
  }
}

async function outputOf(command: string, ...args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { timeout: LIMIT_MS })
    return stdout.replace(/^#.*$/gm, '').replace(/\[\d+:\d+\]/g, '')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'not installed'
    throw error
  }
}
