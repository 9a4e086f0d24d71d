// The frame of the page: who is signed in, and which view its address names.
import { h, render } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { ask, Refusal } from './api.js'
import { Cell } from './cell.js'
import { CloudBelow } from './cells-below.js'
import { Create } from './create.js'
import { Drain } from './drain.js'
import { Events } from './events.js'
import { Host } from './host.js'
import { Intents } from './intents.js'
import { Move } from './move.js'
import { Operation, Operations } from './operations.js'
import { Overview } from './overview.js'
import { Heading, path } from './parts.js'
import { Policies, Policy } from './policies.js'
import { CreatePolicy, EditPolicy } from './policy-form.js'
import { Lose, Recover } from './recover.js'
import { Server } from './server.js'
import { Servers } from './servers.js'
import { Projects, SignIn } from './sign-in.js'
import { Volume, Volumes } from './volumes.js'

/** By the address, in which ID stands for what the view is given as `id`. */
const VIEWS = {
  '': { view: Overview, isForOperators: true },
  'cells/ID': { view: Cell, isForOperators: true },
  'cells/ID/lost': { view: Lose, isForOperators: true },
  'cells/ID/recover': { view: Recover, isForOperators: true },
  'hosts/ID': { view: Host, isForOperators: true },
  'hosts/ID/cells': { view: CloudBelow, isForOperators: true },
  'hosts/ID/drain': { view: Drain, isForOperators: true },
  servers: { view: Servers },
  'servers/ID': { view: Server },
  'servers/ID/move': { view: Move, isForOperators: true },
  volumes: { view: Volumes },
  'volumes/ID': { view: Volume },
  create: { view: Create },
  events: { view: Events },
  intents: { view: Intents },
  operations: { view: Operations, isForOperators: true },
  'operations/ID': { view: Operation, isForOperators: true },
  policies: { view: Policies, isForOperators: true },
  'policies/ID': { view: Policy, isForOperators: true },
  'policies/ID/edit': { view: EditPolicy, isForOperators: true },
  'create-policy': { view: CreatePolicy, isForOperators: true },
}
const NAVIGATION = [['', 'Overview'], ['servers', 'Servers'], ['volumes', 'Volumes'], ['create', 'Create'], ['events', 'Events'], ['operations', 'Operations'], ['intents', 'Intents'], ['policies', 'Policies']]

/** `#/servers/ID/move?status=ERROR` -> its parts. */
function place() {
  const [before, search = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
  const [name = '', id, act] = before.split('/').map(decodeURIComponent)
  const address = [name, id !== undefined && 'ID', act].filter((part) => part !== false && part !== undefined).join('/')
  return { name, id, address, search: Object.fromEntries(new URLSearchParams(search)) }
}

function usePlace() {
  const [at, setAt] = useState(place)
  useEffect(() => {
    const changed = () => setAt(place())
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return at
}

function App() {
  const [session, setSession] = useState()
  useEffect(() => {
    ask('ui/session').then(setSession, () => setSession(null))
  }, [])
  if (session === undefined) return h('p', { role: 'status' }, 'Loading …')
  return session === null ? [h(SignIn, { onSession: setSession }), h(Footer)] : h(SignedIn, { session, setSession })
}

function SignedIn({ session, setSession }) {
  const { name, id, address, search } = usePlace()
  const isFirst = address === '' && !session.is_admin
  const known = VIEWS[isFirst ? 'servers' : address]
  const leave = useCallback(async () => {
    try {
      await ask('ui/session', { method: 'DELETE' })
    } finally {
      setSession(null)
    }
  }, [])
  return [
    h('a', { class: 'skip', href: '#main', onClick: skip }, 'Skip to the content'),
    h(
      'header',
      null,
      h('strong', null, 'Weir'),
      h(
        'nav',
        { 'aria-label': 'Views' },
        NAVIGATION.filter(([each]) => session.is_admin || !VIEWS[each].isForOperators).map(([each, label]) =>
          h('a', { href: path(each), 'aria-current': each === (isFirst ? 'servers' : name) ? 'page' : undefined }, label),
        ),
      ),
      h(Search),
      h(Projects, { session, onSession: setSession }),
      h('span', null, session.user.name),
      h('button', { type: 'button', onClick: leave }, 'Sign out'),
    ),
    h(
      'main',
      { id: 'main' },
      known === undefined || (known.isForOperators && !session.is_admin)
        ? h(Heading, null, 'There is no such view')
        : h(known.view, { key: `${address}/${id ?? ''}/${session.project?.id}`, id, search, session }),
    ),
    h(Footer),
  ]
}

/** The other pages of the gateway. */
function Footer() {
  return h('footer', null, h('a', { href: '../docs' }, 'API reference'), h('a', { href: '../home' }, 'Addresses for clients'))
}

/** A link to a part of the page would change which view is shown. */
function skip(event) {
  event.preventDefault()
  document.querySelector('h1')?.focus()
}

function Search() {
  const search = async (event) => {
    event.preventDefault()
    const text = new FormData(event.target).get('text').trim()
    if (text !== '') location.hash = await whereIs(text)
  }
  return h(
    'form',
    { role: 'search', onSubmit: search },
    h('input', { name: 'text', type: 'search', 'aria-label': 'Find a server by name, id or address, or a request by its id', placeholder: 'Name, id, IP …' }),
    h('button', null, 'Find'),
  )
}

/** The view for what somebody searches. */
async function whereIs(text) {
  if (/^req-[0-9a-f-]{36}$/.test(text)) return `${path('events')}?request=${text}`
  if (/^[0-9a-f-]{36}$/.test(text) && (await isServer(text))) return path('servers', text)
  const isAddress = /^[0-9a-f:.]*[:.][0-9a-f:.]*$/i.test(text)
  return `${path('servers')}?${new URLSearchParams({ [isAddress ? 'ip' : 'name']: text })}`
}

async function isServer(id) {
  try {
    await ask(`compute/v2.1/servers/${id}`)
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

render(h(App), document.body)
