import { h } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from './api.js'
import { Problem, useData } from './parts.js'

/** A form that signs in with a name and a password, or with a token. */
export function SignIn({ onSession }) {
  const [isByToken, setByToken] = useState(false)
  const [state, setState] = useState({})
  const submit = async (event) => {
    event.preventDefault()
    const body = Object.fromEntries(new FormData(event.target))
    setState({ isBusy: true })
    try {
      onSession(await ask('ui/session', { method: 'POST', body }))
    } catch (error) {
      setState({ error })
    }
  }
  const field = (name, label, more = {}) =>
    h('label', { key: name }, label, h('input', { name, required: true, ...more }))
  return h(
    'main',
    { class: 'sign-in' },
    h('h1', null, 'Sign in to Weir'),
    h(
      'form',
      { onSubmit: submit },
      isByToken
        ? field('token', 'Token', { type: 'password', autocomplete: 'off' })
        : [
            field('name', 'User', { autocomplete: 'username', autofocus: true }),
            field('password', 'Password', { type: 'password', autocomplete: 'current-password' }),
            field('domain', 'Domain', { value: 'Default' }),
            field('project', 'Project (the first of yours, if empty)', { required: false }),
          ],
      h('button', { disabled: state.isBusy }, 'Sign in'),
      h('button', { type: 'button', class: 'plain', onClick: () => setByToken(!isByToken) }, isByToken ? 'With a password instead' : 'With a token instead'),
      h(Problem, { error: state.error }),
    ),
  )
}

/** The project that is shown, and the others that the user may change to. */
export function Projects({ session, onSession }) {
  const data = useData((signal) => ask('ui/session/projects', { signal }), [session.user.id])
  const [error, setError] = useState()
  const change = async ({ target }) => {
    try {
      onSession(await ask('ui/session', { method: 'PUT', body: { project: target.value } }))
    } catch (refusal) {
      setError(refusal)
    }
  }
  const own = session.project === null ? [] : [session.project]
  const projects = data.value?.projects ?? own
  return h(
    'label',
    null,
    h('span', { class: 'unseen' }, 'Project'),
    h(
      'select',
      { onChange: change, value: session.project?.id },
      projects.map(({ id, name }) => h('option', { key: id, value: id, selected: id === session.project?.id }, name)),
    ),
    h(Problem, { error }),
  )
}
