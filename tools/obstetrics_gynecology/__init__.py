"""Obstetrics and gynaecology: dating, pregnancy, labour, birth, newborn, early pregnancy and gynaecological decisions."""
