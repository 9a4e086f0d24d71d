import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'

const LIMIT_MS = 30_000

/** A network namespace of its own with one wire to this machine, of which it reaches one address and nothing else. */
export interface FarNetwork extends Disposable {
  /** This machine's end of the wire. */
  readonly address: string
  /** To be put before a command that is to run there. */
  readonly within: readonly string[]
  /** Cuts the wire, or joins it again. */
  setWire(state: 'up' | 'down'): void
}

/** Needs root. `net` is any number from 0 to 255: the wire is 10.77.`net`.0/30. */
export function farNetwork(net: number): FarNetwork {
  const suffix = randomBytes(3).toString('hex')
  const [name, near, far] = [`weir-${suffix}`, `wn${suffix}`, `wf${suffix}`]
  const address = `10.77.${net}.1`
  const within = ['ip', 'netns', 'exec', name]
  ip('netns', 'add', name)
  ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', name)
  ip('addr', 'add', `${address}/30`, 'dev', near)
  ip('link', 'set', near, 'up')
  ip('-n', name, 'addr', 'add', `10.77.${net}.2/30`, 'dev', far)
  ip('-n', name, 'link', 'set', far, 'up')
  ip('-n', name, 'link', 'set', 'lo', 'up')
  return {
    address,
    within,
    setWire: (state) => ip('link', 'set', near, state),
    [Symbol.dispose]: () => {
      ip('link', 'del', near)
      ip('netns', 'del', name)
    },
  }
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { timeout: LIMIT_MS, stdio: 'ignore' })
}
