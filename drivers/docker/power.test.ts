import { expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { type CellId, type HostId, type InstanceId, newId } from '#common/ids.ts'
import { InstanceLocks } from '../instance-locks.ts'
import type { DockerHost } from './host.ts'
import { LABELS } from './names.ts'
import { dockerPause } from './power.ts'

// Goal: a guest is paused and resumed as asked, also while its engine still shows the state before the last change.

const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
const Labels = { [LABELS.cell]: owner.cellId, [LABELS.host]: owner.hostId }
const id = newId<InstanceId>()
const { signal } = new AbortController()

/** Of a host whose engine shows these states, one after the other, and refuses every change. */
function pauseWhereShown(...states: readonly string[]) {
  const shown = [...states]
  const call = async (method: string) => {
    if (method === 'POST') throw new Failure('conflict', 'The container engine refused.')
    return { Id: 'container', State: { Status: shown.shift() }, Config: { Labels } }
  }
  return dockerPause({
    owner,
    engine: { call },
    locks: new InstanceLocks(),
  } as unknown as DockerHost)
}

test('a change that the engine refuses because it has been made already is done', async () => {
  await pauseWhereShown('paused', 'running').unpause(id, signal)
  await pauseWhereShown('running', 'paused').pause(id, signal)
})

test.each([
  ['is off', 'exited', 'is not running'],
  ['stays as it was', 'running', 'The container engine refused'],
])('a refused change of a guest that %s is a conflict', async (_what, state, message) => {
  await expect(pauseWhereShown(state, state).pause(id, signal)).rejects.toMatchObject({
    kind: 'conflict',
    message: expect.stringContaining(message),
  })
})
