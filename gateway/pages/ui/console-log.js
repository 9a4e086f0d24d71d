import { h } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from './api.js'
import { Acts, Loaded, useData } from './parts.js'

const LINES = 100

/** What a server has written to its console, once somebody wants to see it. It is text, whatever the guest writes. */
export function ConsoleLog({ id, at }) {
  const [isOpen, setOpen] = useState(false)
  return h('details', { onToggle: ({ target }) => setOpen(target.open) }, h('summary', null, 'Console log'), isOpen && h(Lines, { id, at }))
}

function Lines({ id, at }) {
  const data = useData((signal) => ask(`${at}/action`, { method: 'POST', body: { 'os-getConsoleOutput': { length: LINES } }, signal }), [at])
  const again = { label: 'Read it again', command: `openstack console log show --lines ${LINES} ${id}`, act: async () => data.reload() }
  return [
    h(Acts, { acts: [again] }),
    h(Loaded, { data, show: ({ output }) => (output === '' ? h('p', null, 'It is empty.') : h('pre', { tabIndex: 0, role: 'region', 'aria-label': 'Console log' }, output)) }),
  ]
}
