import type { Env } from '#common/env.ts'

/** The settings of an environment whose names begin so, for a program to be started with. */
export function passedOn(env: Env, prefix: string): Readonly<Record<string, string>> {
  const own = Object.entries(env).filter(([name]) => name.startsWith(prefix))
  return Object.fromEntries(own.map(([name, value]) => [name, value ?? '']))
}
