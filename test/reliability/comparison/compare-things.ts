import { existence, finalState, isImpossible } from '../record/history.ts'
import { type Entry, outcomeOf, type RunRecord, type ThingType } from '../record/record.ts'
import type { Wrong } from './compare.ts'
import type { ApiServer, ApiThing, Snapshot } from './snapshot.ts'

/** Compares the objects that users see with the answers that they got: no object may be missing, doubled, unrequested or different. */
export function compareThings({ api }: Snapshot, record: RunRecord): readonly Wrong[] {
  const seen: (readonly [ThingType, readonly ApiThing[]])[] = [
    ['server', api.servers.map(serverAsThing)],
    ...(Object.entries(api.things) as [ThingType, readonly ApiThing[]][]),
  ]
  return seen.flatMap(([type, things]) => [
    ...wrongExistence(type, things, record),
    ...unasked(type, things, record),
    ...things.flatMap((thing) => wrongFields(type, thing, record)),
  ])
}

function wrongExistence(type: ThingType, things: readonly ApiThing[], record: RunRecord): Wrong[] {
  const there = new Set(things.map(({ id }) => id))
  const wrong: Wrong[] = []
  for (const id of idsOf(type, record)) {
    const must = existence(finalState(record, `${type}:${id}`, 'exists'))
    const requests = record.of(`${type}:${id}`, 'exists').map(({ requestId }) => requestId)
    if (must === 'there' && !there.has(id))
      wrong.push({ kind: 'lost', text: `${type} ${id} was promised and is gone`, requests })
    if (must === 'gone' && there.has(id))
      wrong.push({ kind: 'leaked', text: `${type} ${id} was deleted and is there`, requests })
  }
  return wrong
}

function idsOf(type: ThingType, record: RunRecord): ReadonlySet<string> {
  const prefix = `${type}:`
  return new Set(
    record.entries.flatMap(({ writes }) =>
      writes
        .filter(({ thing, field }) => field === 'exists' && thing.startsWith(prefix))
        .map(({ thing }) => thing.slice(prefix.length)),
    ),
  )
}

/** One request makes one thing: what bears its name and was not told of comes from a request that was not answered. */
function unasked(type: ThingType, things: readonly ApiThing[], record: RunRecord): Wrong[] {
  const known = idsOf(type, record)
  const makers = Map.groupBy(
    record.entries.filter(({ makes }) => makes?.type === type),
    ({ makes }) => makes!.name,
  )
  const strangers = Map.groupBy(
    things.filter(({ id, name }) => !known.has(id) && makers.has(name)),
    ({ name }) => name,
  )
  return [...strangers].flatMap(([name, made]): Wrong[] => {
    const asked = makers.get(name) ?? []
    const requests = asked.map(({ requestId }) => requestId)
    const ids = made.map(({ id }) => id).join(', ')
    if (asked.every((entry) => outcomeOf(entry) === 'refused'))
      return [{ kind: 'wrong answer', text: `${type} ${ids} was refused and is there`, requests }]
    const isAnswered = asked.some((entry) => outcomeOf(entry) === 'done')
    if (!isAnswered && made.length === 1) return []
    const text = `${type} ${ids} came from what ${isAnswered ? 'was answered with another' : 'asked once'}`
    return [{ kind: 'doubled', text, requests }]
  })
}

function wrongFields(type: ThingType, { id, fields }: ApiThing, record: RunRecord): Wrong[] {
  const thing = `${type}:${id}`
  return Object.entries(fields).flatMap(([field, value]): Wrong[] => {
    const possible = finalState(record, thing, field)
    if (!isImpossible(possible, value)) return []
    const allowed = [...possible.values].map((each) => JSON.stringify(each)).join(' or ')
    const text = `${type} ${id} has ${field} ${JSON.stringify(value)}, answered was ${allowed}`
    return [{ kind: 'wrong answer', text, requests: requestsOf(record.of(thing, field)) }]
  })
}

/** A metadata key or a tag that is not there is null. */
function serverAsThing(server: ApiServer): ApiThing {
  const { id, name, description, metadata, tags } = server
  const keys = ['a', 'b', 'c']
  return {
    id,
    name,
    fields: {
      name,
      description,
      ...Object.fromEntries(keys.map((key) => [`metadata.${key}`, metadata[key] ?? null])),
      ...Object.fromEntries(keys.map((key) => [`tag.${key}`, tags.includes(key)])),
    },
  }
}

function requestsOf(entries: readonly Entry[]): readonly string[] {
  return entries.filter((entry) => outcomeOf(entry) !== 'refused').map(({ requestId }) => requestId)
}
