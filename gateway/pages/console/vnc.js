import RFB from './novnc/core/rfb.js'
import { begin, closed, opened } from './session.js'

const ctrlAltDel = document.getElementById('ctrl-alt-del')

begin((url, wsProtocols) => {
  const rfb = new RFB(document.getElementById('console'), url, { wsProtocols })
  rfb.scaleViewport = true
  rfb.focusOnClick = true
  rfb.addEventListener('connect', () => {
    ctrlAltDel.disabled = false
    opened()
  })
  rfb.addEventListener('disconnect', () => {
    ctrlAltDel.disabled = true
    closed()
  })
  ctrlAltDel.addEventListener('click', () => {
    rfb.sendCtrlAltDel()
    rfb.focus()
  })
})
