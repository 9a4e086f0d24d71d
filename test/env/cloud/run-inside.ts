import type { Relay } from '../relay.ts'
import type { Running } from './cloud-process.ts'
import type { Program } from './program.ts'

/** Runs a program inside this process. Killing it cuts all its wires first, so nothing it still does can be seen. */
export async function runInside(
  program: Program,
  env: Readonly<Record<string, string>>,
  wires: readonly Relay[],
): Promise<Running> {
  const running = await program.inside(env)
  return {
    stop: async () => {
      await running[Symbol.asyncDispose]()
    },
    kill: async () => {
      for (const wire of wires) wire.set('refuse')
      // The last output of a dead program does not matter.
      await Promise.resolve(running[Symbol.asyncDispose]()).catch(() => {})
    },
  }
}
