import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '#test/env/random.ts'
import { act } from './act-steps.ts'
import { Administrator } from './identity-steps.ts'
import { type Assets, type Project, pickKnown } from './project.ts'
import { changeImage, changeKeypair, changeResource } from './resource-steps.ts'
import { type Actor, boot, destroy, edit, list, show } from './server-steps.ts'
import { Session, type Setting } from './session.ts'

const SEEDS = 2 ** 31
/** A project has about so many servers; with more of them users rather delete than boot. */
const SERVERS_MEANT = 25
/** After an answer that is none a client waits before it asks on. */
const PAUSE_MS = 200

export interface Crowd {
  readonly projects: readonly Project[]
  readonly assets: Assets
  readonly administrator: Administrator
}

/** Everybody does something all the time, until `isOver`. */
export async function useUntil(
  { projects, assets, administrator }: Crowd,
  setting: Setting,
  isOver: () => boolean,
): Promise<void> {
  const users = projects.flatMap((project) =>
    project.users.map((user) => {
      const random = ownRandom(setting)
      const actor: Actor = { session: new Session({ ...setting, random }, user), project, assets }
      const keypairs = new Set<string>()
      return repeat(setting, () => step(actor, keypairs), isOver)
    }),
  )
  await Promise.all([...users, repeat(setting, () => administrator.step(), isOver)])
}

/** What one user chooses must not depend on how fast others are answered. */
export function ownRandom({ random }: Setting): SeededRandom {
  return new SeededRandom(Math.floor(random.next() * SEEDS))
}

async function repeat(
  { record }: Setting,
  work: () => Promise<void>,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    await work()
    // Where nothing serves, refusals come at once.
    if ((record.entries.at(-1)?.status ?? 0) < 200) await sleep(PAUSE_MS)
  }
}

async function step(actor: Actor, keypairs: Set<string>): Promise<void> {
  const { session, project } = actor
  const { random } = session.setting
  const dice = random.next()
  const id = pickKnown(random, project.servers)
  if (id === undefined || dice < 0.5) {
    if (id === undefined || project.servers.size < SERVERS_MEANT * (0.5 + random.next()))
      await boot(actor)
    else await destroy(actor, id)
  } else if (dice < 0.56) await destroy(actor, id)
  else if (dice < 0.74) await act(actor, id)
  else if (dice < 0.82) await edit(actor, id)
  else if (dice < 0.85) await show(actor, id)
  else if (dice < 0.87) await list(actor)
  else if (dice < 0.94) await changeResource(actor)
  else if (dice < 0.97) await changeKeypair(actor, keypairs)
  else await changeImage(actor)
}
